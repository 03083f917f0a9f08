//! One target: its scrapes, one after the other.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::config::Target;
use super::decode::{Body, Decoded, Decoder};
use super::identity::Origin;
use super::view::Scrape;
use crate::clock::{Clock, Stopwatch};
use crate::snapshot::{ErrorKind, NodeAttribution, NodeName, PodRef, SourceError};
use crate::source::read_only::{Answer, ReadOnlyClient, SourceUrl};

/// How long a scrape counts against the limit on scrapes at the same time. A healthy one is over
/// by then; one that is not waits without keeping others from starting.
const HOLD: Duration = Duration::from_millis(250);
/// Any exporter's text is read; the plain format is what dcgm-exporter writes best.
const ACCEPT: &str = "text/plain;version=0.0.4,*/*;q=0.1";
/// All targets are tried once within this time after they became targets.
const FIRST_ROUND: Duration = Duration::from_secs(2);

/// A target with what its discovery knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address.
    pub url: SourceUrl,
    /// The node it tells about, and how that is known.
    pub node: Option<(NodeName, NodeAttribution)>,
    /// The exporter's own pod, where known.
    pub exporter_pod: Option<PodRef>,
    /// Its exporter is being rolled out: an absence is expected for a while.
    pub rolling_out: bool,
}

impl From<&Target> for Endpoint {
    fn from(target: &Target) -> Self {
        let node = target.node.clone();
        Self {
            url: target.url.clone(),
            node: node.map(|node| (node, NodeAttribution::Configured)),
            exporter_pod: None,
            rolling_out: false,
        }
    }
}

/// When a target's scrapes are due, counted from the start of the source: the same moment of each
/// interval, different from target to target, the same after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    interval: Duration,
    /// The moment in the interval.
    phase: Duration,
}

impl Schedule {
    pub(super) fn new(url: &str, interval: Duration) -> Self {
        // FNV-1a with a mix: neighbouring addresses must not get neighbouring moments.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in url.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let share = (hash >> 40) as f64 / f64::from(1_u32 << 24);
        Self {
            interval,
            phase: interval.mul_f64(share),
        }
    }

    /// The wait before the first scrape.
    pub(super) fn first(self) -> Duration {
        let window = FIRST_ROUND.min(self.interval);
        window.mul_f64(self.phase.as_secs_f64() / self.interval.as_secs_f64())
    }

    /// The wait after a scrape that began at `last`, now being `now`. Scrapes are about an
    /// interval apart: the first due moment that is at least half of it later.
    pub(super) fn next(self, last: Duration, now: Duration) -> Duration {
        let earliest = (last + self.interval / 2).max(now);
        let past = earliest.saturating_sub(self.phase).as_secs_f64();
        let rounds = (past / self.interval.as_secs_f64()).ceil();
        let due = self.phase + self.interval.mul_f64(rounds);
        due.saturating_sub(now)
    }
}

/// Scrapes a target once.
pub(super) async fn scrape(
    client: &ReadOnlyClient,
    slots: &Semaphore,
    clock: &Clock,
    decoder: &mut Decoder,
    url: &SourceUrl,
    origin: &Origin,
) -> Scrape {
    // The semaphore is never closed; were it, the scrape would go on without a slot.
    let slot = slots.acquire().await.ok();
    let at = clock.now();
    let stopwatch = Stopwatch::start();
    let answer = without_blocking(slot, client.get(url, ACCEPT)).await;
    let took = stopwatch.elapsed();
    let (read, error) = match answer {
        Ok(answer) => read(&answer, decoder, url, at, origin),
        Err(error) => (None, Some(error)),
    };
    Scrape {
        at,
        took,
        read,
        error,
    }
}

/// Waits for a request, and gives its slot back as soon as it is slow.
async fn without_blocking<T>(
    slot: Option<SemaphorePermit<'_>>,
    request: impl Future<Output = T>,
) -> T {
    let mut request = std::pin::pin!(request);
    if let Ok(done) = timeout(HOLD, &mut request).await {
        return done;
    }
    drop(slot);
    request.await
}

/// Decodes what came. Of a body that ended too early the whole lines count, and the attempt
/// failed all the same. A body that ends with its connection does not fail, but its last line
/// counts only if a line feed ends it.
fn read(
    answer: &Answer,
    decoder: &mut Decoder,
    url: &SourceUrl,
    at: jiff::Timestamp,
    origin: &Origin,
) -> (Option<Decoded>, Option<SourceError>) {
    let body = Body {
        bytes: &answer.body,
        content_type: answer.content_type.as_deref(),
        complete: answer.complete(),
        at,
    };
    let mut read = decoder.decode(body, origin);
    if answer.cut.is_none() && !read.is_metrics {
        let kind = ErrorKind::NotMetrics;
        let typed = answer.content_type.as_deref().unwrap_or("none");
        let typed: String = typed.chars().filter(|c| !c.is_control()).take(80).collect();
        let message = format!(
            "GET {url}: the answer of {} bytes is not metrics text (Content-Type: {typed}); look \
             at the port and path, dcgm-exporter serves :9400/metrics",
            answer.body.len()
        );
        return (None, Some(SourceError { kind, message }));
    }
    let unended = answer.body.last().is_some_and(|byte| *byte != b'\n');
    if answer.cut.is_none() && !answer.framed && unended {
        read.notes.push(
            "the last line was left out: no line feed ends it, and neither a length nor chunks \
             show that it is whole"
                .to_owned(),
        );
    }
    (Some(read), answer.cut.clone())
}
