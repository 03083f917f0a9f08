//! Every way in which a target can fail, all at once, each beside two healthy targets: what the
//! service publishes of it, how much memory that takes, and how it recovers.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use crate::bodies::{self, Board};
use crate::dcgm_source::raw;
use crate::fake_exporter::{Answer, FakeExporter, Manner};
use crate::serve::writes;
use crate::service::{File, QUICK, Service, samples, value};

/// What a target's state must be.
#[derive(Clone, Copy)]
enum Outcome {
    /// Down with this kind of error, and a finding that names it.
    Down(&'static str),
    /// It answers without a GPU, and a finding says so.
    Empty,
    /// Its GPU is read; lines or values are counted under this reason.
    Up(Option<&'static str>),
}

struct Fault {
    name: &'static str,
    manner: Manner,
    outcome: Outcome,
}

const BOARD: Board = Board::healthy("GPU-bad");
const LONG: &str = "Content-Length: 100000\r\n";

fn fault(name: &'static str, manner: Manner, outcome: Outcome) -> Fault {
    Fault {
        name,
        manner,
        outcome,
    }
}

fn of_connections() -> Vec<Fault> {
    use Outcome::Down;
    let body = bodies::third(BOARD, 1);
    let (half, _) = body.split_at(body.len() / 2);
    vec![
        fault("refused", Manner::Raw(Vec::new()), Down("refused")),
        fault("hang", Manner::Hang(Vec::new()), Down("timeout")),
        fault(
            "drip",
            Manner::Drip(raw(LONG, ""), body.clone().into()),
            Down("timeout"),
        ),
        fault("reset", Manner::Reset(raw(LONG, half)), Down("truncated")),
        fault("cut", Manner::Raw(raw(LONG, half)), Down("truncated")),
    ]
}

fn of_answers() -> Vec<Fault> {
    use Outcome::{Down, Empty};
    let status = |code| Manner::Answer(Answer::new(code, "", "why"));
    let login = Answer::new(302, "Location: /login\r\n", "");
    let page = "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n";
    let page = Answer::new(200, "Content-Type: text/html\r\n", page);
    let packed = Answer::new(200, "Content-Encoding: gzip\r\n", bodies::bomb());
    let headers = bodies::third(BOARD, 1);
    let headers: Vec<_> = headers.lines().filter(|l| l.starts_with('#')).collect();
    let headers = Answer::new(200, "", headers.join("\n") + "\n");
    vec![
        fault("status-500", status(500), Down("server_error")),
        fault("status-401", status(401), Down("unauthorized")),
        fault("redirect", Manner::Answer(login), Down("redirect")),
        fault("page", Manner::Answer(page), Down("not_metrics")),
        fault("bomb", Manner::Answer(packed), Down("too_large")),
        fault("endless", Manner::Flood(raw("", "")), Down("too_large")),
        fault("empty", Manner::Answer(Answer::new(200, "", "")), Empty),
        fault("headers-only", Manner::Answer(headers), Empty),
    ]
}

/// A healthy body with more lines behind it.
fn with(lines: &'static [u8]) -> Manner {
    Manner::made(move |beat| {
        let mut body = bodies::third(BOARD, beat).into_bytes();
        body.extend_from_slice(lines);
        Answer::new(200, "", body)
    })
}

fn of_bodies() -> Vec<Fault> {
    use Outcome::Up;
    let typed = Manner::made(|beat| {
        let typed = "Content-Type: application/octet-stream\r\n";
        Answer::new(200, typed, bodies::third(BOARD, beat))
    });
    let twice = Manner::made(|beat| {
        let body = bodies::third(BOARD, beat);
        Answer::new(200, "", body.repeat(2))
    });
    vec![
        fault("wrong-type", typed, Up(None)),
        fault("twice", twice, Up(None)),
        fault(
            "truncated-line",
            with(b"DCGM_FI_DEV_MEM_CLOCK{gpu=\"0\",UUID=\"GPU-b"),
            Up(Some("bad_labels")),
        ),
        fault(
            "not-utf8",
            with(b"DCGM_FI_DEV_MEM_CLOCK{UUID=\"GPU-\xff\xfe\"} 1\n"),
            Up(Some("invalid_utf8")),
        ),
        fault(
            "sentinels",
            with(
                b"DCGM_FI_DEV_MEMORY_TEMP{UUID=\"GPU-bad\"} 9223372036854775794\n\
                  DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{UUID=\"GPU-bad\"} 9.223372036854776e+18\n\
                  DCGM_FI_DEV_SLOWDOWN_TEMP{UUID=\"GPU-bad\"} 2147483632\n",
            ),
            Up(Some("sentinel")),
        ),
        fault(
            "absurd",
            with(
                b"DCGM_FI_DEV_MEMORY_TEMP{UUID=\"GPU-bad\"} 4278190080\n\
                  DCGM_FI_DEV_ENC_UTIL{UUID=\"GPU-bad\"} 808334905\n\
                  DCGM_FI_DEV_MEM_COPY_UTIL{UUID=\"GPU-bad\"} -1\n",
            ),
            Up(Some("out_of_bounds")),
        ),
        fault(
            "not-numbers",
            with(
                b"DCGM_FI_DEV_MEMORY_TEMP{UUID=\"GPU-bad\"} NaN\n\
                  DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{UUID=\"GPU-bad\"} +Inf\n\
                  DCGM_FI_DEV_SLOWDOWN_TEMP{UUID=\"GPU-bad\"} -Inf\n",
            ),
            Up(Some("sentinel")),
        ),
    ]
}

/// A fault's cluster: the name, the three exporters and what must become of the first.
struct Case {
    name: &'static str,
    url: String,
    /// `None`: nobody listens there.
    bad: Option<FakeExporter>,
    good: [FakeExporter; 2],
    outcome: Outcome,
}

async fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let faults = [of_connections(), of_answers(), of_bodies()];
    for fault in faults.into_iter().flatten() {
        let good = |uuid| writes(bodies::third, Board::healthy(uuid));
        let good = [
            FakeExporter::start(good("GPU-a")).await,
            FakeExporter::start(good("GPU-b")).await,
        ];
        let Fault {
            name,
            manner,
            outcome,
        } = fault;
        let bad = FakeExporter::start(manner).await;
        let url = bad.url();
        let bad = (name != "refused").then_some(bad);
        cases.push(Case {
            name,
            url,
            bad,
            good,
            outcome,
        });
    }
    cases
}

fn configuration(cases: &[Case]) -> String {
    let mut text = format!("{QUICK}clusters:\n");
    let mut cluster = |name: &str, urls: [&str; 3]| {
        write!(text, "- name: {name}\n  dcgm:\n    targets:\n").expect("memory");
        for (node, url) in ["bad", "a", "b"].iter().zip(urls) {
            writeln!(text, "    - {{ url: '{url}', node: {node} }}").expect("memory");
        }
    };
    for case in cases {
        let [a, b] = case.good.each_ref().map(FakeExporter::url);
        cluster(case.name, [&case.url, &a, &b]);
    }
    let nobody = ["bad", "a", "b"].map(|name| format!("http://127.0.0.1:1/{name}"));
    cluster("gone", nobody.each_ref().map(String::as_str));
    text
}

fn of_cluster<'a>(incidents: &'a [Value], cluster: &str) -> Vec<&'a Value> {
    let of_it = incidents
        .iter()
        .filter(|incident| incident["cluster"] == cluster);
    of_it.collect()
}

fn target<'a>(source: &'a Value, url: &str) -> &'a Value {
    let targets = source["targets"].as_array().expect("targets");
    let found = targets.iter().find(|target| target["url"] == url);
    found.expect("listed")
}

/// What holds for a fault's cluster while the fault lasts.
async fn is_told(service: &Service, case: &Case, incidents: &[Value], metrics: &str) {
    let name = case.name;
    let source = service.source(name).await;
    let bad = target(&source, &case.url);
    let found = of_cluster(incidents, name);
    let up = |node: &str| {
        value(
            metrics,
            "gpulens_target_up",
            &[("cluster", name), ("node", node)],
        )
    };
    let gpus = |node: &str| {
        let labels = [("cluster", name), ("node", node)];
        samples(
            metrics,
            "gpulens_gpu_last_reading_timestamp_seconds",
            &labels,
        )
        .len()
    };
    match case.outcome {
        Outcome::Down(kind) => {
            assert_eq!(
                (&bad["state"], &bad["error"]["kind"]),
                (&"down".into(), &kind.into()),
                "{name}: {bad}"
            );
            assert_eq!(up("bad"), 0.0, "{name}");
            let errors = [("cluster", name), ("kind", kind)];
            assert!(
                value(metrics, "gpulens_source_errors_total", &errors) >= 3.0,
                "{name}"
            );
            let [found] = found[..] else {
                panic!("{name}: {found:#?}")
            };
            assert_eq!(
                (&found["cause"], &found["place"]["node"]),
                (&"target_unreachable".into(), &"bad".into())
            );
            let facts = found["facts"].as_array().expect("facts");
            assert!(
                facts
                    .iter()
                    .any(|fact| fact["name"] == "error" && fact["value"] == kind),
                "{name}: {found}"
            );
        }
        Outcome::Empty => {
            assert_eq!(
                (&bad["state"], &bad["gpus"]),
                (&"up".into(), &0.into()),
                "{name}"
            );
            let [found] = found[..] else {
                panic!("{name}: {found:#?}")
            };
            assert_eq!(
                (&found["cause"], &found["place"]["node"]),
                (&"target_empty".into(), &"bad".into())
            );
        }
        Outcome::Up(reason) => {
            assert_eq!(
                (&bad["state"], &bad["gpus"]),
                (&"up".into(), &1.into()),
                "{name}: {bad}"
            );
            assert_eq!((up("bad"), gpus("bad")), (1.0, 1), "{name}");
            assert_eq!(found, Vec::<&Value>::new(), "{name}");
            if let Some(reason) = reason {
                let rejected = [("cluster", name), ("reason", reason)];
                assert!(
                    value(metrics, "gpulens_samples_rejected_total", &rejected) >= 3.0,
                    "{name}"
                );
            }
        }
    }
    for (node, exporter) in ["a", "b"].iter().zip(&case.good) {
        let good = target(&source, &exporter.url());
        assert_eq!(
            (&good["state"], &good["gpus"]),
            (&"up".into(), &1.into()),
            "{name}"
        );
        assert_eq!((up(node), gpus(node)), (1.0, 1), "{name}");
    }
    let state = |state| {
        value(
            metrics,
            "gpulens_source_targets",
            &[("cluster", name), ("state", state)],
        )
    };
    let down = f64::from(u8::from(matches!(case.outcome, Outcome::Down(_))));
    assert_eq!((state("down"), state("up")), (down, 3.0 - down), "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_fails_is_told_and_costs_the_others_nothing() {
    let cases = cases().await;
    let file = File::new("faults.yaml", &configuration(&cases));
    let flag = format!("--config.file={}", file.path());
    let mut service = Service::start(&[&flag]);
    service.ready().await;
    let findings = 1 + cases
        .iter()
        .filter(|case| !matches!(case.outcome, Outcome::Up(_)))
        .count();
    let all = || async {
        let incidents = service.incidents().await;
        (incidents.len() >= findings).then_some(())
    };
    service
        .until("a finding for each fault that is one", all)
        .await;
    // Long enough for whatever else there could be.
    sleep(Duration::from_secs(5)).await;
    let incidents = service.incidents().await;
    let metrics = service.metrics().await;
    for case in &cases {
        is_told(&service, case, &incidents, &metrics).await;
    }
    // Every target of a source at once is the source's finding.
    assert_eq!(service.source("gone").await["state"], "down");
    let gone = of_cluster(&incidents, "gone");
    assert_eq!(gone.len(), 1, "{gone:#?}");
    assert_eq!(
        (&gone[0]["cause"], &gone[0]["severity"]),
        (&"target_unreachable".into(), &"critical".into())
    );

    let peak = service.peak_mebibytes();
    assert!(peak < 100, "{peak} MiB resident");
    recovers(&service, &cases, &incidents).await;
    assert!(service.is_alive());
    assert!(!service.log().contains("level=error"), "{}", service.log());
    let peak = service.peak_mebibytes();
    assert!(peak < 100, "{peak} MiB resident");
}

async fn recovers(service: &Service, cases: &[Case], before: &[Value]) {
    let cases = cases
        .iter()
        .filter_map(|case| Some((case, case.bad.as_ref()?)));
    let cases: Vec<_> = cases
        .inspect(|(_, bad)| bad.set(writes(bodies::third, BOARD)))
        .map(|(case, _)| case)
        .collect();
    let resolved = || async {
        let incidents = service.incidents().await;
        let all = cases.iter().all(|case| {
            let of_it = of_cluster(&incidents, case.name);
            of_it.iter().all(|incident| incident["state"] == "closed")
        });
        all.then_some(incidents)
    };
    let incidents = service.until("everything is over", resolved).await;
    let metrics = service.metrics().await;
    for case in &cases {
        let name = case.name;
        let source = service.source(name).await;
        let bad = target(&source, &case.url);
        assert_eq!(
            (&bad["state"], &bad["gpus"]),
            (&"up".into(), &1.into()),
            "{name}"
        );
        let found = of_cluster(&incidents, name);
        assert_eq!(
            found.len(),
            of_cluster(before, name).len(),
            "{name}: nothing new"
        );
        for incident in found {
            assert_eq!(incident["closed"]["how"], "resolved", "{name}");
            let id = [("incident", incident["id"].as_str().expect("an id"))];
            assert_eq!(
                value(&metrics, "gpulens_incident_active", &id),
                0.0,
                "{name}"
            );
        }
    }
}
