//! The families about GPU Lens itself.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::Page;
use super::label::Label;
use super::row::{Buckets, Row, Value, family, histograms};
use crate::cycle::ClusterView;
use crate::incident::Closing;
use crate::publish::Process;
use crate::publish::catalogue::{self as c, Family};
use crate::publish::published::{Cycles, seconds};
use crate::rules::{self, RuleRun};
use crate::snapshot::{ClusterName, ErrorKind, Rejected, SourceState, SourceStatus, TargetState};
use crate::version;

pub(super) fn encode(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    cycles(page, encoder)?;
    incidents(page, encoder)?;
    rules(page, encoder)?;
    sources(page, encoder)?;
    let tracked = |view: &ClusterView| Value::Whole(view.gpus.len() as u64);
    one_a_cluster(page, encoder, &c::TRACKED_GPUS, tracked)?;
    one_a_cluster(page, encoder, &c::TRACKED_PODS, |view| {
        Value::Whole(view.tracked_pods)
    })?;
    one_a_cluster(page, encoder, &c::OBSERVATIONS_TOO_LATE_TOTAL, |view| {
        Value::Whole(view.too_late_total)
    })
}

fn one_a_cluster(
    page: &Page,
    encoder: &mut DescriptorEncoder<'_>,
    of: &Family,
    value: impl Fn(&ClusterView) -> Value,
) -> fmt::Result {
    let rows = page.all().map(|view| Row {
        cluster: view.cluster.as_str(),
        labels: [],
        value: value(view),
    });
    family(encoder, of, rows)
}

/// Incidents opened and closed of every cluster that is watched: at 0 before its first cycle, so
/// that the first incident is an increase.
fn incidents(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let view = |cluster: &ClusterName| page.all().find(|view| view.cluster == *cluster);
    let watched = || {
        page.cycles
            .iter()
            .map(|(cluster, _)| (cluster, view(cluster)))
    };
    let opened = watched().flat_map(|(cluster, view)| {
        rules::ALL.iter().map(move |entry| {
            let count = view.and_then(|view| view.opened_total.get(&entry.id));
            let labels = [entry.id.as_str().into()];
            Row::new(cluster.as_str(), labels, count.copied().unwrap_or(0))
        })
    });
    family(encoder, &c::INCIDENTS_OPENED_TOTAL, opened)?;
    let closed = watched().flat_map(|(cluster, view)| {
        rules::ALL.iter().flat_map(move |entry| {
            Closing::ALL.into_iter().map(move |how| {
                let count = view.and_then(|view| view.closed_total.get(&(entry.id, how)));
                let labels = [entry.id.as_str().into(), how.as_str().into()];
                Row::new(cluster.as_str(), labels, count.copied().unwrap_or(0))
            })
        })
    });
    family(encoder, &c::INCIDENTS_CLOSED_TOTAL, closed)
}

fn cycles(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    one_a_cluster(page, encoder, &c::CYCLE_INTERVAL_SECONDS, |view| {
        Value::Real(view.interval.as_secs_f64())
    })?;
    one_a_cluster(page, encoder, &c::LAST_CYCLE_TIMESTAMP_SECONDS, |view| {
        Value::Real(seconds(view.evaluated))
    })?;
    let durations: Vec<_> = page
        .cycles
        .iter()
        .map(|(cluster, cycles)| Buckets {
            cluster: cluster.as_str(),
            counts: cycles.buckets().collect(),
            sum: cycles.duration_sum,
        })
        .collect();
    histograms(encoder, &c::CYCLE_DURATION_SECONDS, &durations)?;
    let results = page.cycles.iter().flat_map(|(cluster, cycles)| {
        let Cycles {
            success,
            rule_failed,
            failed,
            ..
        } = *cycles;
        [
            ("success", success),
            ("rule_failed", rule_failed),
            ("failed", failed),
        ]
        .map(|(result, count)| Row::new(cluster.as_str(), [result.into()], count))
    });
    family(encoder, &c::CYCLES_TOTAL, results)
}

fn rules(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut each = |of: &Family, value: fn(&RuleRun) -> Value| {
        let rows = page.all().flat_map(move |view| {
            view.rules.iter().map(move |run| Row {
                cluster: view.cluster.as_str(),
                labels: [run.rule.as_str().into()],
                value: value(run),
            })
        });
        family(encoder, of, rows)
    };
    each(&c::RULE_DURATION_SECONDS, |run| {
        run.duration.as_secs_f64().into()
    })?;
    each(&c::RULE_SUCCESS, |run| run.success.into())?;
    each(&c::RULE_EXCLUDED_SUBJECTS, |run| run.excluded.into())
}

fn all_sources(page: &Page) -> impl Iterator<Item = (&str, &SourceStatus)> {
    page.all().flat_map(|view| {
        view.sources
            .iter()
            .map(|source| (view.cluster.as_str(), source))
    })
}

fn sources(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let up = all_sources(page).map(|(cluster, source)| {
        let up = source.state == SourceState::Up;
        Row::new(cluster, [source.id.as_str().into()], up)
    });
    family(encoder, &c::SOURCE_UP, up)?;
    let targets = all_sources(page).flat_map(|(cluster, source)| {
        TargetState::ALL.map(|state| {
            let count = source.targets.iter().filter(|t| t.state == state).count();
            let labels = [source.id.as_str().into(), state.as_str().into()];
            Row::new(cluster, labels, count as u64)
        })
    });
    family(encoder, &c::SOURCE_TARGETS, targets)?;
    let successes = all_sources(page).filter_map(|(cluster, source)| {
        let at = seconds(source.last_success?);
        Some(Row::new(cluster, [source.id.as_str().into()], at))
    });
    family(
        encoder,
        &c::SOURCE_LAST_SUCCESS_TIMESTAMP_SECONDS,
        successes,
    )?;
    let errors = all_sources(page).flat_map(|(cluster, source)| {
        ErrorKind::ALL.map(|kind| {
            let count = source.errors.get(&kind).copied().unwrap_or(0);
            let labels = [source.id.as_str().into(), kind.as_str().into()];
            Row::new(cluster, labels, count)
        })
    });
    family(encoder, &c::SOURCE_ERRORS_TOTAL, errors)?;
    let durations = all_sources(page).filter_map(|(cluster, source)| {
        source.last_attempt?;
        let labels = [source.id.as_str().into()];
        Some(Row::new(cluster, labels, source.duration_seconds))
    });
    family(encoder, &c::SOURCE_DURATION_SECONDS, durations)?;
    rejected(page, encoder)
}

fn rejected(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = page.all().flat_map(|view| {
        let known = [Rejected::Sentinel, Rejected::OutOfBounds];
        let mut counts: BTreeMap<&str, u64> =
            known.iter().map(|reason| (reason.as_str(), 0)).collect();
        let all = view.sources.iter().flat_map(|source| &source.rejected);
        for (reason, count) in all {
            *counts.entry(reason).or_default() += count;
        }
        let row = |(reason, count)| Row::new(view.cluster.as_str(), [Label::Text(reason)], count);
        counts.into_iter().map(row).collect::<Vec<_>>()
    });
    family(encoder, &c::SAMPLES_REJECTED_TOTAL, rows)
}

/// What belongs to no cluster.
pub(super) fn encode_process(
    process: &Process,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    let labels = [version::VERSION, version::REVISION, version::RUSTC].map(Label::Text);
    let row = Row::new("", labels, 1);
    family(encoder, &c::BUILD_INFO, std::iter::once(row))?;
    for (of, value) in [
        (&c::PROCESS_CPU_SECONDS_TOTAL, process.cpu_seconds),
        (&c::PROCESS_OPEN_FDS, process.open_fds),
        (&c::PROCESS_MAX_FDS, process.max_fds),
        (&c::PROCESS_VIRTUAL_MEMORY_BYTES, process.virtual_bytes),
        (
            &c::PROCESS_VIRTUAL_MEMORY_MAX_BYTES,
            process.virtual_max_bytes,
        ),
        (&c::PROCESS_RESIDENT_MEMORY_BYTES, process.resident_bytes),
        (&c::PROCESS_START_TIME_SECONDS, process.start_seconds),
    ] {
        let row = value.map(|value| Row::new("", [], value));
        family(encoder, of, row.into_iter())?;
    }
    Ok(())
}
