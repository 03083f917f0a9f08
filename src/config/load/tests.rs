use super::*;

fn of(text: &str) -> Result<Config, Vec<String>> {
    with(text, Overrides::default())
}

fn with(text: &str, flags: Overrides) -> Result<Config, Vec<String>> {
    let mut root = parse(text.as_bytes()).map_err(|problem| vec![problem.to_string()])?;
    let (mut config, mut problems) = decode::<Config>(&mut root);
    problems.extend(apply(&mut config, flags));
    problems.extend(check(&config, Some(&root)));
    if problems.is_empty() {
        return Ok(config);
    }
    Err(problems.iter().map(ToString::to_string).collect())
}

#[test]
fn a_full_file() {
    let config = of("
cycle: { interval: 30s }
web:
  listen_address: 127.0.0.1:9000
  telemetry_path: /gpu
log: { level: debug, format: json }
metrics: { per_gpu: false, max_incident_series: 100 }
limits: { stale_after: 5m }
rules:
  health: { hold: 5m, exclude: { nodes: [n9] } }
clusters:
  - name: prod
    kubernetes: { enabled: off }
    dcgm:
      http: { timeout: 5s, basic_auth: { username: me, password: hunter2 } }
      metrics: { SITE_TEMP: { signal: core_temperature_celsius } }
      targets:
        - url: http://10.0.0.1:9400
          node: 1.10
        - { url: 'http://10.0.0.2:9400/metrics' }
  - name: lab
    dcgm:
      # all of it is commented out
")
    .expect("valid");
    assert_eq!(config.cycle.interval, Span::seconds(30));
    assert_eq!(config.clusters[0].dcgm.targets[0].node, Some("1.10".into()));
    assert_eq!(config.rules.health.exclude.nodes, ["n9"]);
    assert_eq!(config.clusters[0].dcgm.http.timeout, Span::seconds(5));
    assert_eq!(
        config.clusters[1].dcgm,
        crate::source::dcgm::DcgmConfig::default()
    );
    assert_eq!(of("").expect("empty"), Config::default());
    assert_eq!(of("# nothing\n---\n").expect("null"), Config::default());
}

#[test]
fn every_problem_is_listed() {
    let problems = of("
cycle:
  interval: soon
web:
  listen_adress: :1
  telemetry_path: metrics
log: { level: loud }
clusters:
  - name: a
    dcgm:
      targets:
        - url: ftp://nowhere
          node: n1
        - node: n2
        - url: http://n1:9400
        - url: http://n1:9400/metrics
  - name: a
wed: {}
")
    .expect_err("many");
    let wanted = [
        "configuration:3:13: cycle.interval: `soon`",
        "configuration:5:3: web.listen_adress: unknown key `listen_adress`; did you mean `listen_address`? allowed: ",
        "configuration:6:19: web.telemetry_path: `metrics` is not a path",
        "configuration:7:15: log.level: unknown value `loud`; allowed: debug, error, info, trace, warn",
        "configuration:12:16: clusters[0].dcgm.targets[0].url: the scheme `ftp` is not http",
        "configuration:14:11: clusters[0].dcgm.targets[0]: `url` is missing",
        "configuration:18:1: wed: unknown key `wed`; did you mean `web`?",
        "configuration:17:11: clusters[1].name: `a` is the name of clusters[0] already",
        "configuration:16:16: clusters[0].dcgm.targets[1].url: http://n1:9400/metrics is the target of",
    ];
    for want in wanted {
        assert!(
            problems.iter().any(|have| have.starts_with(want)),
            "{want}\nnot in {problems:#?}"
        );
    }
    assert_eq!(problems.len(), wanted.len(), "{problems:#?}");
}

#[test]
fn flags_win_and_describe_one_cluster() {
    let flags = || Overrides {
        interval: Some(Span::seconds(5)),
        targets: vec![crate::config::target("http://n2:9400").expect("target")],
        ..Overrides::default()
    };
    let one = "cycle: {interval: 60s}\nclusters:\n- name: a\n  dcgm: {targets: [{url: 'http://n1:9400'}]}\n";
    let config = with(one, flags()).expect("one");
    assert_eq!(config.cycle.interval, Span::seconds(5));
    assert_eq!(config.clusters[0].name, "a".into());
    assert_eq!(config.clusters[0].dcgm.targets, flags().targets);

    let problems = with("clusters: [{name: a}, {name: b}]", flags()).expect_err("two");
    assert_eq!(
        problems,
        [
            "configuration: --dcgm.target: the file has 2 clusters, and flags describe one; set it under `clusters` in the file"
        ]
    );
}
