//! The program as people run it: arguments in; output, errors and exit code out.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gpulens::config::Config;

pub(crate) fn gpulens(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpulens"));
    command.args(arguments).stdin(Stdio::null());
    // What the caller's shell holds must not change a test.
    for flag in flags() {
        command.env_remove(flag.variable);
    }
    command
}

/// Runs the program: exit code, standard output, standard error.
pub(crate) fn run(command: &mut Command) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        status.code().expect("an exit code"),
        text(stdout),
        text(stderr),
    )
}

/// A file that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(std::process::id().to_string());
        fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join(name);
        fs::write(&file, content).expect("a file");
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        // The last one out takes the folder with it.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

#[test]
fn without_arguments_there_is_help_and_a_failure() {
    let (code, _, stderr) = run(&mut gpulens(&[]));
    assert_eq!(code, 2);
    assert!(stderr.contains("Usage: gpulens <COMMAND>"), "{stderr}");
}

#[test]
fn help_and_version() {
    for arguments in [&["--help"][..], &["serve", "--help"], &["check", "-h"]] {
        let (code, stdout, stderr) = run(&mut gpulens(arguments));
        assert_eq!((code, stderr.as_str()), (0, ""), "{arguments:?}");
        for part in ["Usage: gpulens", "Examples:", "xit code"] {
            assert!(stdout.contains(part), "{arguments:?} lacks {part}");
        }
    }
    let (code, stdout, _) = run(&mut gpulens(&["--version"]));
    assert_eq!(code, 0);
    let start = concat!("gpulens ", env!("CARGO_PKG_VERSION"), " (revision ");
    assert!(
        stdout.starts_with(start) && stdout.contains(", rustc 1."),
        "{stdout}"
    );
}

#[test]
fn wrong_flags_say_what_is_allowed() {
    for (arguments, part) in [
        (&["serv"][..], "'serve'"),
        (
            &["serve", "--web.listen-adress=:1"],
            "'--web.listen-address'",
        ),
        (&["serve", "--web.listen-address=9836"], "such as :9836"),
        (
            &["serve", "--web.telemetry-path=/healthz"],
            "is served already",
        ),
        (
            &["serve", "--web.external-url=https://lens.example"],
            "unexpected argument '--web.external-url'",
        ),
        (
            &["serve", "--cycle.interval=15"],
            "want a duration such as 15s",
        ),
        (
            &["serve", "--log.level=loud"],
            "error, warn, info, debug, trace",
        ),
        (&["serve", "--log.format=xml"], "logfmt, json"),
        (&["serve", "--metrics.per-gpu=perhaps"], "true, false"),
        (&["serve", "--kubernetes=on"], "comes with a later version"),
        (
            &["serve", "--dcgm.target=http://n1:9400,n1"],
            "want URL[,node=NAME]",
        ),
        (
            &["serve", "--dcgm.target=http://a", "--recording=x"],
            "cannot be used with",
        ),
        (
            &["serve", "--dcgm.target=http://n1", "--cycle.interval=1h"],
            "want 1s to 10m",
        ),
        (
            &[
                "serve",
                "--dcgm.target=http://n1",
                "--dcgm.target=http://n1/metrics",
            ],
            "would count twice",
        ),
        (
            &["serve", "--config.file=/nonexistent"],
            "cannot read the configuration /nonexistent",
        ),
        (&["check"], "<FILE|DIR>"),
        (&["check", "--fail-on=bad", "x"], "info, warning, critical"),
        (&["check", "/nonexistent"], "/nonexistent"),
        (&["rules", "GPU-NONE-000"], "GPU-HEALTH-002 (health)"),
        (&["config"], "Usage: gpulens config <COMMAND>"),
    ] {
        let (code, stdout, stderr) = run(&mut gpulens(arguments));
        assert_eq!((code, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains(part),
            "{arguments:?}: {part} is not in\n{stderr}"
        );
    }
}

#[test]
fn what_may_be_a_secret_is_never_repeated() {
    let secrets = [
        "http://u:secretpw@x:9400",
        "http://x:9400?token=secretpw,node=",
        "http://x:9400?token=secretpw,nod=a",
        "u:secretpw@x:9400",
        "ftp://x/?secretpw",
        "http://x:99999/secretpw?secretpw",
        "http://n1/?secretpw http://n2",
        "http://n1/?secretpw,node=a secretpw",
        "http://[secretpw@",
    ];
    for secret in secrets {
        let refused = |command: &mut Command, name: &str| {
            let (code, stdout, stderr) = run(command);
            assert_eq!((code, stdout.as_str()), (2, ""), "{name} {secret}");
            assert!(stderr.contains(name), "{secret}: {stderr}");
            assert!(!stderr.contains("secretpw"), "{stderr}");
        };
        refused(
            &mut gpulens(&["serve", &format!("--dcgm.target={secret}")]),
            "--dcgm.target: ",
        );
        // In the variable white space stands between targets: two good ones would be served.
        let several = format!("{secret},");
        refused(
            gpulens(&["serve"]).env("GPULENS_DCGM_TARGET", several),
            "GPULENS_DCGM_TARGET: ",
        );
        for flag in flags() {
            if ["dcgm.target", "recording", "config.file"].contains(&flag.name.as_str()) {
                continue;
            }
            let name = format!("--{}", flag.name);
            let argument = format!("{name}={secret}");
            refused(&mut gpulens(&["serve", &argument]), &name);
            refused(gpulens(&["serve"]).env(flag.variable, secret), &name);
        }
        for arguments in [
            &["serve", secret][..],
            &["serve", "--dcgm.targets", secret],
            &["serve", "--web.external-url", secret],
            &[secret],
            &["check", "--format", secret],
        ] {
            refused(&mut gpulens(arguments), "error: ");
        }
    }
    let url = "http://u:secretpw@x/recording.json";
    for arguments in [
        &["serve", "--recording", url][..],
        &["serve", "--config.file", url],
        &["check", url],
        &["config", "check", url],
        &["rules", url],
    ] {
        let (code, _, stderr) = run(&mut gpulens(arguments));
        assert_eq!(code, 2, "{arguments:?}");
        assert!(!stderr.contains("secretpw"), "{stderr}");
    }
}

#[test]
fn the_flag_takes_one_target_and_the_variable_several() {
    let text = "http://n1:9400,node=a b";
    let (code, _, stderr) = run(&mut gpulens(&["serve", "--dcgm.target", text]));
    assert_eq!(code, 2);
    assert!(stderr.contains("--dcgm.target: there is white"), "{stderr}");
    let text = "http://n1:9400,node=a http://n1:9400/metrics";
    let (code, _, stderr) = run(gpulens(&["serve"]).env("GPULENS_DCGM_TARGET", text));
    assert_eq!(code, 2);
    assert!(stderr.contains("would count twice"), "{stderr}");
}

#[test]
fn bad_input_is_told_once_and_is_exit_code_2() {
    let broken = Scratch::new("broken.json", "{x");
    let nothing = "error: cannot read /nonexistent: No such file or directory (os error 2)\n";
    for arguments in [
        &["check", "/nonexistent"][..],
        &["serve", "--recording=/nonexistent"],
    ] {
        let (code, _, stderr) = run(&mut gpulens(arguments));
        assert_eq!((code, stderr.as_str()), (2, nothing), "{arguments:?}");
    }
    let (code, _, stderr) = run(&mut gpulens(&["config", "check", "/nonexistent"]));
    assert_eq!(code, 2);
    assert_eq!(stderr.matches("No such file").count(), 1, "{stderr}");
    for arguments in [
        &["check", broken.path()][..],
        &["serve", "--recording", broken.path()],
    ] {
        let (code, _, stderr) = run(&mut gpulens(arguments));
        assert_eq!(code, 2, "{arguments:?}");
        assert_eq!(stderr.matches("line 1 column 2").count(), 1, "{stderr}");
    }
}

#[test]
fn an_empty_configuration_shows_what_to_give() {
    let (code, _, stderr) = run(&mut gpulens(&["serve"]));
    assert_eq!(code, 2);
    for part in [
        "nothing to look at",
        "--dcgm.target=http://",
        "gpulens demo",
    ] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn every_bad_value_of_a_file_has_its_place_and_what_is_allowed() {
    let targets = |lines: &str| format!("clusters:\n- dcgm:\n    targets:\n{lines}");
    let table: Vec<(String, &str)> = vec![
        (
            "wed: {}".into(),
            "1:1: wed: unknown key `wed`; did you mean `web`? allowed: clusters, cycle",
        ),
        (
            "web: { port: 1 }".into(),
            "1:8: web.port: unknown key `port`; allowed: listen_address, telemetry_path",
        ),
        (
            "web: [1]".into(),
            "1:6: web: this is a list; want a mapping",
        ),
        (
            "web:\n  listen_address: 80".into(),
            "2:19: web.listen_address: `80` is not an address",
        ),
        (
            "web:\n  telemetry_path: x".into(),
            "2:19: web.telemetry_path: `x` is not a path",
        ),
        (
            "web:\n  external_url: x".into(),
            "2:3: web.external_url: unknown key `external_url`; allowed: listen_address",
        ),
        (
            "cycle:\n  interval: 15".into(),
            "2:13: cycle.interval: `15`: time unit needed",
        ),
        (
            "cycle:\n  interval: 1h".into(),
            "2:13: cycle.interval: 1h is out of range; want 1s to 10m",
        ),
        (
            "log: { level: loud }".into(),
            "1:15: log.level: unknown value `loud`; allowed: debug",
        ),
        (
            "log: { format: xml }".into(),
            "1:16: log.format: unknown value `xml`; allowed: json, logfmt",
        ),
        (
            "metrics: { per_gpu: 7 }".into(),
            "1:21: metrics.per_gpu: this is a number; want true or false",
        ),
        (
            "metrics: { max_incident_series: 0 }".into(),
            "1:33: metrics.max_incident_series: 0 is out of range; want 1 to 1000000",
        ),
        (
            "limits: { stale_after: 30s }".into(),
            "1:24: limits.stale_after: 30s would make healthy readings stale; want at least 1m, twice limits.collection_interval",
        ),
        (
            "limits: { reorder: 0s }".into(),
            "1:20: limits.reorder: 0s is too short",
        ),
        (
            "rules: { helth: {} }".into(),
            "1:10: rules.helth: unknown key `helth`; did you mean `health`?",
        ),
        (
            "rules:\n  health:\n    exclude: { nodes: 3 }".into(),
            "3:23: rules.health.exclude.nodes: this is a number; want a list",
        ),
        (
            "rules:\n  health:\n    xid_severity: { X63: info }".into(),
            "3:21: rules.health.xid_severity.X63: this is text; want a whole number of at least 0",
        ),
        (
            "rules:\n  health:\n    xid_severity: { '-1': info }".into(),
            "3:21: rules.health.xid_severity.-1: integer `-1` is out of range; want a whole number from 0 to 65535",
        ),
        (
            "rules:\n  health:\n    xid_severity: { 70000: info }".into(),
            "3:21: rules.health.xid_severity.70000: integer `70000` is out of range; want a whole number from 0 to 65535",
        ),
        (
            "rules:\n  health:\n    xid_severity: { 63: bad }".into(),
            "3:19: rules.health.xid_severity: `bad` for XID 63: want info, warning or critical",
        ),
        (
            "rules:\n  fresh: { frozen_family_after: 9223372036854775807s }".into(),
            "2:33: rules.fresh.frozen_family_after: `9223372036854775807s` is too long; want at most 366d",
        ),
        (
            "rules:\n  health: { xid_expire_after: 367d }".into(),
            "2:31: rules.health.xid_expire_after: `367d` is too long; want at most 366d",
        ),
        (
            "limits: { forget_after: 9223372036854775807s }".into(),
            "1:25: limits.forget_after: `9223372036854775807s` is too long; want at most 366d",
        ),
        (
            "rules:\n  health: { rate_window: 0s }".into(),
            "2:26: rules.health.rate_window: 0s is too short; want at least 1s",
        ),
        (
            "rules:\n  therm: { window: 0s }".into(),
            "2:20: rules.therm.window: 0s is too short; want at least 1s",
        ),
        (
            "rules:\n  fresh: { fleet_nodes: 0 }".into(),
            "2:25: rules.fresh.fleet_nodes: 0 would always be reached; want a number above 0",
        ),
        (
            "cycle: { interval: 5m }".into(),
            "1:20: cycle.interval: 5m would make healthy readings stale; want at most half of limits.stale_after, which is 3m",
        ),
        (
            "limits: { stale_after: 2h }".into(),
            "1:24: limits.stale_after: 2h would take the past for the present; want at most 1h",
        ),
        (
            "rules:\n  therm: { core_warning: 90 }".into(),
            "2:26: rules.therm.core_warning: 90 °C is too hot; want at most 87 °C, core_critical",
        ),
        (
            "rules:\n  therm: { core_critical: 70 }".into(),
            "2:27: rules.therm.core_critical: 70 °C is too cold; want at least 80 °C, core_warning",
        ),
        (
            "rules:\n  therm: { memory_warning: 99, memory_critical: 98 }".into(),
            "2:28: rules.therm.memory_warning: 99 °C is too hot; want at most 98 °C, memory_critical",
        ),
        (
            "rules:\n  health: { capacity_critical_after: 1m }".into(),
            "2:38: rules.health.capacity_critical_after: 1m is too short; want at least 2m, rules.health.hold",
        ),
        (
            "rules:\n  health: { plugin_critical_after: 1m }".into(),
            "2:36: rules.health.plugin_critical_after: 1m is too short; want at least 2m, rules.health.hold",
        ),
        (
            "rules:\n  health: { hold: 6m }".into(),
            "2:19: rules.health.hold: 6m is too long; want at most 5m, rules.health.capacity_critical_after",
        ),
        (
            "limits: { forget_after: 1m }".into(),
            "1:25: limits.forget_after: 1m is too short; want at least 3m, limits.stale_after",
        ),
        (
            "rules:\n  fresh: { frozen_family_after: 2d }".into(),
            "2:33: rules.fresh.frozen_family_after: 2d is too long; want at most 1d, limits.forget_after",
        ),
        (
            "clusters: {}".into(),
            "1:11: clusters: this is a mapping; want a list",
        ),
        (
            "clusters:\n- name: a\n- name: a".into(),
            "3:9: clusters[1].name: `a` is the name of clusters[0] already",
        ),
        (
            "clusters:\n- name: a\n- {}".into(),
            "3:3: clusters[1]: `name` is missing",
        ),
        (
            "clusters:\n- name: \"a\\e\"".into(),
            "2:9: clusters[0].name: want at most 128 bytes",
        ),
        (
            "clusters:\n- kubernetes: { enabled: auto }".into(),
            "2:26: clusters[0].kubernetes.enabled: `auto`: the Kubernetes source comes with a later version",
        ),
        (
            "clusters:\n- dcgm: { http: { timeout: soon } }".into(),
            "2:28: clusters[0].dcgm.http.timeout: `soon`",
        ),
        (
            "clusters:\n- dcgm: { http: { tls: { cert_file: x } } }".into(),
            "2:17: clusters[0].dcgm.http: tls.cert_file and tls.key_file belong together",
        ),
        (
            "clusters:\n- dcgm: { http: { basic_auth: hunter2 } }".into(),
            "2:31: clusters[0].dcgm.http.basic_auth: this is text; want a mapping",
        ),
        (
            "clusters:\n- dcgm: { concurrency: 0 }".into(),
            "2:9: clusters[0].dcgm: concurrency must be between 1 and 10000",
        ),
        (
            "clusters:\n- dcgm: { metrics: { X: { signal: heat } } }".into(),
            "2:35: clusters[0].dcgm.metrics.X.signal: `heat`",
        ),
        (
            targets("    - node: n1"),
            "4:7: clusters[0].dcgm.targets[0]: `url` is missing",
        ),
        (
            targets("    - url: ftp://n1:9400"),
            "4:12: clusters[0].dcgm.targets[0].url: the scheme `ftp` is not http or https",
        ),
        (
            targets("    - url: http://u:hunter2@n1:9400"),
            "4:12: clusters[0].dcgm.targets[0].url: a user or password in a URL",
        ),
        (
            targets("    - url: http://n1\n    - url: http://n1"),
            "5:12: clusters[0].dcgm.targets[1].url: http://n1/metrics is the target of clusters[0].dcgm.targets[0] already",
        ),
        (
            targets("    - { url: http://n1, node: '' }"),
            "4:31: clusters[0].dcgm.targets[0].node: node must be a node's name",
        ),
        (
            targets("    - { url: http://n1, node: a b }"),
            "4:31: clusters[0].dcgm.targets[0].node: a node's name holds no white space",
        ),
        ("a: [1".into(), "not valid YAML"),
        ("log: {}\nlog: {}".into(), "2:1: not valid YAML"),
        ("log: {}\n---\nlog: {}".into(), "not valid YAML"),
    ];
    for (at, (text, wanted)) in table.iter().enumerate() {
        let file = Scratch::new(&format!("bad-{at}.yaml"), text);
        for arguments in [
            ["config", "check", file.path()],
            ["rules", "--config.file", file.path()],
        ] {
            let (code, stdout, stderr) = run(&mut gpulens(&arguments));
            assert_eq!((code, stdout.as_str()), (2, ""), "{text}\n{stderr}");
            assert!(
                stderr.starts_with(&format!("error: {}:", file.path())),
                "{stderr}"
            );
            assert!(
                stderr.contains(wanted),
                "{text}\n{wanted}\nis not in\n{stderr}"
            );
            assert!(!stderr.contains("hunter2"), "{stderr}");
        }
    }
    let file = Scratch::new("latin.yaml", b"log: {}\nx: \xe9");
    let (code, _, stderr) = run(&mut gpulens(&["config", "check", file.path()]));
    assert_eq!(code, 2);
    assert!(stderr.contains("latin.yaml:2:4: not UTF-8"), "{stderr}");
}

#[test]
fn keys_that_are_numbers_are_read_in_quotes_and_without() {
    let text = "rules: { health: { xid_severity: { 63: info, \"64\": critical, '31': warning } } }";
    let file = Scratch::new("keys.yaml", text);
    let (code, stdout, stderr) = run(&mut gpulens(&["rules", "--config.file", file.path()]));
    assert_eq!((code, stderr.as_str()), (0, ""));
    let row = "xid_severity = 31: warning, 63: info, 64: critical";
    assert!(stdout.contains(row), "{stdout}");
}

#[test]
fn a_good_file_is_said_to_be_good() {
    let file = Scratch::new(
        "good.yaml",
        "clusters:\n- name: lab\n  dcgm: {targets: [{url: 'http://n1:9400', node: n1}]}\n",
    );
    let (code, stdout, stderr) = run(&mut gpulens(&["config", "check", file.path()]));
    assert_eq!((code, stderr.as_str()), (0, ""));
    assert!(
        stdout.contains("good.yaml: valid\n  cluster lab: 1 dcgm-exporter"),
        "{stdout}"
    );
}

#[test]
fn variables_stand_in_for_flags_and_lists_are_split() {
    let mut command = gpulens(&["serve", "--cycle.interval=5s"]);
    command
        .env(
            "GPULENS_DCGM_TARGET",
            " http://n1:9400,node=n1\n  http://n1:9400/metrics ",
        )
        .env("GPULENS_CYCLE_INTERVAL", "nonsense that the flag wins over");
    let (code, _, stderr) = run(&mut command);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("http://n1:9400/metrics is the target of"),
        "{stderr}"
    );

    let (code, _, stderr) = run(gpulens(&["demo"]).env("GPULENS_LOG_LEVEL", "loud"));
    assert_eq!(code, 2);
    assert!(stderr.contains("--log.level"), "{stderr}");
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = gpulens(&["metrics", "--signals"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn rules_and_signals_are_listed() {
    let (code, stdout, _) = run(&mut gpulens(&["rules", "--format=json"]));
    let rules: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(code, 0);
    for (at, entry) in gpulens::rules::ALL.iter().enumerate() {
        assert_eq!(rules[at]["id"], entry.id.as_str());
        assert_eq!(rules[at]["limits"][0]["name"], "stale_after");
        for arguments in [&["rules"][..], &["rules", entry.name]] {
            let (_, stdout, _) = run(&mut gpulens(arguments));
            assert!(stdout.contains("limits.young_node = 20m"), "{stdout}");
            assert!(!stdout.contains("  The same "), "{stdout}");
        }
        for format in ["text", "markdown", "json"] {
            let arguments = ["rules", entry.name, "--format", format];
            let (code, stdout, _) = run(&mut gpulens(&arguments));
            assert_eq!(code, 0);
            assert!(stdout.contains(entry.id.as_str()) && stdout.contains(entry.title));
        }
    }
    for format in ["text", "markdown"] {
        let arguments = ["metrics", "--signals", "--format", format];
        let (_, stdout, _) = run(&mut gpulens(&arguments));
        assert!(
            stdout.contains("core_temperature_celsius") && stdout.contains("DCGM_FI_DEV_GPU_TEMP")
        );
    }
}

/// A flag of `serve` as the README's table has it.
struct Flag {
    name: String,
    variable: String,
    key: String,
    default: String,
    meaning: String,
}

/// The flags of `serve`, from the definition itself.
fn flags() -> Vec<Flag> {
    let command = gpulens::cli::command();
    let serve = command.find_subcommand("serve").expect("serve");
    let flags = serve.get_arguments().filter_map(|argument| {
        let name = argument
            .get_long()
            .filter(|name| *name != "help")?
            .to_owned();
        let help = argument.get_help().expect("a meaning").to_string();
        let (meaning, default) = match help.split_once(" [default: ") {
            Some((meaning, rest)) => (
                meaning.to_owned(),
                format!("`{}`", rest.trim_end_matches(']')),
            ),
            None => (help, "–".to_owned()),
        };
        let key = match name.as_str() {
            "config.file" | "recording" => "–".to_owned(),
            "kubernetes" => "`clusters[].kubernetes.enabled`".to_owned(),
            "dcgm.target" => "`clusters[].dcgm.targets`".to_owned(),
            name => format!("`{}`", name.replace('-', "_")),
        };
        let variable = argument.get_env().expect("each flag has a variable");
        Some(Flag {
            variable: variable.to_str().expect("UTF-8").to_owned(),
            name,
            key,
            default,
            meaning,
        })
    });
    flags.collect()
}

#[test]
fn flags_have_their_variable_and_the_configuration_s_default() {
    let config = Config::default();
    for flag in flags() {
        let variable = flag.name.to_uppercase().replace(['.', '-'], "_");
        assert_eq!(flag.variable, format!("GPULENS_{variable}"));
        let default = match flag.name.as_str() {
            "web.listen-address" => config.web.listen_address.to_string(),
            "web.telemetry-path" => config.web.telemetry_path.to_string(),
            "cycle.interval" => config.cycle.interval.to_string(),
            "log.level" => config.log.level.to_string(),
            "log.format" => config.log.format.to_string(),
            "metrics.per-gpu" => config.metrics.per_gpu.to_string(),
            "kubernetes" => gpulens::config::KubernetesMode::default().to_string(),
            _ => {
                assert_eq!(flag.default, "–", "{}", flag.name);
                continue;
            }
        };
        assert_eq!(flag.default, format!("`{default}`"), "{}", flag.name);
    }
}

#[test]
fn the_readme_lists_every_flag() {
    let mut table = String::from(
        "| flag | variable | key in the file | default | meaning |\n| --- | --- | --- | --- | --- |\n",
    );
    for flag in flags() {
        let Flag {
            name,
            variable,
            key,
            default,
            meaning,
        } = flag;
        let _ = writeln!(
            table,
            "| `--{name}` | `{variable}` | {key} | {default} | {meaning} |"
        );
    }
    let readme = include_str!("../../README.md");
    assert!(
        readme.contains(&table),
        "the README's table of flags differs from `gpulens serve --help`; it should be\n\n{table}"
    );
}
