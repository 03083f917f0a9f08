//! The wiring, from top to bottom: what is configured becomes clusters, each cluster gets a task
//! that turns its crank, and one server shows what they publish.

mod demo;
mod live;
mod played;

use std::io;
use std::sync::Arc;

use anyhow::{Context, Result};
use tokio::net::lookup_host;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::info;

use crate::config::{Config, ListenAddress};
use crate::publish::{PublishOptions, Publisher, Server, ServerOptions};
use crate::snapshot::ClusterName;
use crate::source::{read_only, recording};

pub use played::check;

/// Serves what is configured until it is told to stop.
pub async fn serve(config: Config) -> Result<()> {
    read_only::install_crypto();
    if config.recordings.is_empty() {
        let clusters = live::clusters(&config)?;
        return run(&config, clusters).await;
    }
    let timelines = recording::read_all(&config.recordings)?;
    run(&config, played::clusters(timelines, &config)).await
}

/// Serves the built-in clusters until it is told to stop.
pub async fn demo(config: Config) -> Result<()> {
    let timelines = demo::timelines()?;
    run(&config, played::clusters(timelines, &config)).await
}

/// A cluster that is ready to be watched.
struct Cluster {
    name: ClusterName,
    crank: Crank,
}

/// What turns a cluster's crank.
enum Crank {
    Live(live::Live),
    Played(played::Played),
}

async fn run(config: &Config, clusters: Vec<Cluster>) -> Result<()> {
    let options = PublishOptions {
        per_gpu: config.metrics.per_gpu,
        series_budget: config.metrics.max_incident_series as usize,
        rules: config.rules.clone(),
    };
    let names = clusters.iter().map(|cluster| cluster.name.clone());
    let publisher = Arc::new(Publisher::new(names, options));
    let server = listen(&config.web.listen_address, &publisher, config).await?;
    info!(
        address = %server.local_addr(),
        clusters = clusters.len(),
        version = crate::version::VERSION,
        "listening"
    );
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    for cluster in clusters {
        let (publisher, stopped) = (publisher.clone(), stopped.clone());
        match cluster.crank {
            Crank::Live(live) => tasks.spawn(live.watch(publisher, stopped)),
            Crank::Played(played) => tasks.spawn(played.watch(publisher, stopped)),
        };
    }
    let signal = told_to_stop().await?;
    info!(signal, "stopping");
    // Nobody listens any more where every task has ended already.
    let _ = stop.send(true);
    while tasks.join_next().await.is_some() {}
    server.shutdown().await;
    info!("stopped");
    Ok(())
}

/// Binds the first of an address' candidates that can be had.
async fn listen(
    address: &ListenAddress,
    publisher: &Arc<Publisher>,
    config: &Config,
) -> Result<Server> {
    let options = ServerOptions {
        telemetry_path: config.web.telemetry_path.to_string(),
        ..ServerOptions::default()
    };
    let mut failed = None;
    for candidate in address.candidates() {
        for resolved in lookup_host(&candidate)
            .await
            .with_context(|| format!("cannot resolve {candidate}"))?
        {
            match Server::bind(resolved, publisher.clone(), options.clone()).await {
                Ok(server) => return Ok(server),
                // A host without IPv6 has no [::]; the next candidate is for it.
                Err(error) => _ = failed.get_or_insert(error),
            }
        }
    }
    let error = failed.unwrap_or_else(|| io::Error::other("the name has no address"));
    Err(error).with_context(|| format!("cannot listen on {address}"))
}

#[cfg(unix)]
async fn told_to_stop() -> Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::select! {
        _ = terminate.recv() => Ok("SIGTERM"),
        _ = interrupt.recv() => Ok("SIGINT"),
    }
}

#[cfg(not(unix))]
async fn told_to_stop() -> Result<&'static str> {
    tokio::signal::ctrl_c()
        .await
        .context("cannot listen for Ctrl-C")?;
    Ok("Ctrl-C")
}
