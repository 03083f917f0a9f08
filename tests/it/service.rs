//! The program itself, serving: started on a free port, always ended by its process id.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::cli::gpulens;
use crate::http::{Reply, exchange};

/// Longer than anything here takes; a test that gets there has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// Thresholds with which nothing takes long.
pub(crate) const QUICK: &str = "\
cycle: { interval: 1s }
limits: { collection_interval: 1s, stale_after: 4s, reorder: 2s }
rules:
  fresh: { unreachable_after: 3s, empty_after: 3s, vanished_after: 4s, clear_hold: 2s }
  health: { clear_hold: 2s }
  therm: { hold: 2s, clear_hold: 2s }
";

/// A file that is taken away again.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        let name = format!("gpulens-serve-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).expect("a file");
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The running program.
pub(crate) struct Service {
    child: Child,
    address: SocketAddr,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where it said that it listens.
fn address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("msg=listening address=")?;
    rest.split_whitespace().next()?.parse().ok()
}

impl Service {
    /// Starts `gpulens serve` on any free port.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_on(0, arguments)
    }

    pub(crate) fn start_on(port: u16, arguments: &[&str]) -> Self {
        let listen = format!("--web.listen-address=127.0.0.1:{port}");
        let mut command = gpulens(&["serve", &listen]);
        command.args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let log = Arc::new(Mutex::new(String::new()));
        let (listens, listening) = mpsc::channel();
        let kept = log.clone();
        let reader = std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = address(&line) {
                    let _ = listens.send(address);
                }
                let mut log = kept.lock().expect("no panic");
                log.push_str(&line);
                log.push('\n');
            }
        });
        // Guarded from here on.
        let mut service = Self {
            child,
            address: ([127, 0, 0, 1], port).into(),
            log,
            reader: Some(reader),
        };
        let Ok(address) = listening.recv_timeout(PATIENCE) else {
            panic!("it does not listen: {}", service.log())
        };
        service.address = address;
        service
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("no panic").clone()
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The largest resident memory so far, in MiB, as the operating system counts it.
    pub(crate) fn peak_mebibytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.expect("Linux tells");
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kibibytes.expect("a figure") / 1024
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connected")
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        let request = format!("GET {path} HTTP/1.1\r\nHost: gpulens\r\n\r\n");
        exchange(&mut self.connect().await, request.as_bytes()).await
    }

    pub(crate) async fn metrics(&self) -> String {
        self.get("/metrics").await.text().to_owned()
    }

    /// All incidents, those that are over included.
    pub(crate) async fn incidents(&self) -> Vec<Value> {
        let json = self.get("/api/v1/incidents?state=all").await.json();
        let list = json["data"]["incidents"].as_array();
        list.expect("a list").clone()
    }

    /// What a cluster's source says of itself.
    pub(crate) async fn source(&self, cluster: &str) -> Value {
        let json = self.get("/api/v1/sources").await.json();
        let clusters = json["data"]["clusters"].as_array().expect("clusters");
        let found = clusters.iter().find(|found| found["cluster"] == cluster);
        found.unwrap_or_else(|| panic!("no {cluster}"))["sources"][0].clone()
    }

    /// Asks until there is an answer; `what` is said where there never is.
    pub(crate) async fn until<T, F: Future<Output = Option<T>>>(
        &self,
        what: &str,
        mut look: impl FnMut() -> F,
    ) -> T {
        let looking = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                sleep(Duration::from_millis(150)).await;
            }
        };
        let found = timeout(PATIENCE, looking).await;
        found.unwrap_or_else(|_| panic!("{what}: never\n{}", self.log()))
    }

    pub(crate) async fn ready(&self) {
        let ready = || async { (self.get("/readyz").await.status == 200).then_some(()) };
        self.until("ready", ready).await;
    }

    /// Sends a signal by its name.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.pid());
        let status = Command::new("sh").args(["-c", &script]).status();
        assert!(status.is_ok_and(|status| status.success()), "{script}");
    }

    /// Waits until it has ended: its status, and all that it logged.
    pub(crate) async fn ended(&mut self, within: Duration) -> (ExitStatus, String) {
        let waiting = async {
            loop {
                if let Some(status) = self.child.try_wait().expect("our child") {
                    return status;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        let status = timeout(within, waiting).await;
        let status = status.unwrap_or_else(|_| panic!("it does not end: {}", self.log()));
        if let Some(reader) = self.reader.take() {
            reader.join().expect("read to its end");
        }
        (status, self.log())
    }
}

/// The lines of one family, all of whose named labels are as given.
pub(crate) fn samples<'a>(
    metrics: &'a str,
    family: &'a str,
    labels: &'a [(&str, &str)],
) -> Vec<&'a str> {
    let wanted: Vec<_> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""))
        .collect();
    metrics
        .lines()
        .filter(|line| {
            let rest = line.strip_prefix(family);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
        })
        .filter(|line| wanted.iter().all(|label| line.contains(label)))
        .collect()
}

/// The value of the only such line.
pub(crate) fn value(metrics: &str, family: &str, labels: &[(&str, &str)]) -> f64 {
    let lines = samples(metrics, family, labels);
    let [line] = lines[..] else {
        panic!("{family} {labels:?}: {lines:?}")
    };
    let (_, value) = line.rsplit_once(' ').expect("a value");
    value.parse().expect("a number")
}
