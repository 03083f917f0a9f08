//! The HTTP client of sources: what it can say, and to whom.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gpulens::snapshot::ErrorKind;
use gpulens::source::read_only::{HttpConfig, ReadOnlyClient, SourceUrl, install_crypto};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fake_exporter::{Answer, FakeExporter, Manner};

/// Certificates in a directory that goes away with them.
struct Certificates {
    directory: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Certificates {
    fn new(name: &str) -> Self {
        let directory = format!("gpulens-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
        std::fs::write(directory.join("ca.pem"), authority.pem()).expect("a file");
        let this = Self {
            directory,
            authority,
        };
        this.issue("server", &["exporter.test", "127.0.0.1"]);
        this.issue("client", &["gpulens.test"]);
        this
    }

    fn issue(&self, name: &str, subjects: &[&str]) {
        let subjects: Vec<_> = subjects.iter().copied().map(String::from).collect();
        let params = CertificateParams::new(subjects).expect("names");
        let key = KeyPair::generate().expect("a key");
        let certificate = params
            .signed_by(&key, &self.authority)
            .expect("a signature");
        std::fs::write(self.path(name), certificate.pem()).expect("a file");
        std::fs::write(self.path(&format!("{name}-key")), key.serialize_pem()).expect("a file");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.pem"))
    }

    /// A server with the certificate; with `ask` it wants one in return.
    fn acceptor(&self, ask: bool) -> TlsAcceptor {
        let read = |name| CertificateDer::from_pem_file(self.path(name)).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(self.path("server-key")).expect("a key");
        let builder = ServerConfig::builder();
        let builder = if ask {
            let mut roots = RootCertStore::empty();
            roots.add(read("ca")).expect("an authority");
            let verifier = WebPkiClientVerifier::builder(Arc::new(roots));
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(vec![read("server")], key);
        TlsAcceptor::from(Arc::new(config.expect("a server")))
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // What is left behind in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn ok() -> Manner {
    Manner::Answer(Answer::new(200, "", "up 1\n"))
}

fn client(settings: serde_json::Value) -> ReadOnlyClient {
    install_crypto();
    let config: HttpConfig = serde_json::from_value(settings).expect("good settings");
    ReadOnlyClient::new(&config).expect("a client")
}

fn url(text: &str) -> SourceUrl {
    text.parse().expect("a URL")
}

#[tokio::test]
async fn certificates_are_verified_as_configured() {
    install_crypto();
    let ours = Certificates::new("ours");
    let others = Certificates::new("others");
    let ca = ours.path("ca");
    let plain = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let plain_address = plain.local_addr().expect("an address");
    // What an HTTP server says to a TLS greeting.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            let said = b"HTTP/1.0 400 Bad Request\r\n\r\n";
            stream.write_all(said).await.expect("a client");
        }
    });
    let one_way = FakeExporter::start_tls(ok(), ours.acceptor(false)).await;
    let both_ways = FakeExporter::start_tls(ok(), ours.acceptor(true)).await;
    let (one, both) = (one_way.address, both_ways.address);
    for (what, address, tls, want) in [
        (
            "the system's authorities",
            one,
            json!({}),
            Err(ErrorKind::Tls),
        ),
        ("our authority", one, json!({ "ca_file": ca }), Ok(())),
        (
            "another authority",
            one,
            json!({ "ca_file": others.path("ca") }),
            Err(ErrorKind::Tls),
        ),
        (
            "any certificate",
            one,
            json!({ "insecure_skip_verify": true }),
            Ok(()),
        ),
        (
            "the right name",
            one,
            json!({ "ca_file": ca, "server_name": "exporter.test" }),
            Ok(()),
        ),
        (
            "a wrong name",
            one,
            json!({ "ca_file": ca, "server_name": "else.test" }),
            Err(ErrorKind::Tls),
        ),
        (
            "no certificate of ours",
            both,
            json!({ "ca_file": ca }),
            Err(ErrorKind::Tls),
        ),
        (
            "a certificate of ours",
            both,
            json!({ "ca_file": ca, "cert_file": ours.path("client"), "key_file": ours.path("client-key") }),
            Ok(()),
        ),
        (
            "a certificate of others",
            both,
            json!({ "ca_file": ca, "cert_file": others.path("client"), "key_file": others.path("client-key") }),
            Err(ErrorKind::Tls),
        ),
        (
            "no TLS there",
            plain_address,
            json!({ "ca_file": ca }),
            Err(ErrorKind::Tls),
        ),
    ] {
        let client = client(json!({ "tls": tls }));
        let url = url(&format!("https://{address}/metrics"));
        let got = client.get(&url, "*/*").await.map(|answer| answer.body);
        let got = got.map(|body| assert_eq!(body, b"up 1\n"));
        assert_eq!(
            got.as_ref().copied().map_err(|e| e.kind),
            want,
            "{what}: {got:?}"
        );
    }
    let garbage = ours.directory.join("garbage.pem");
    std::fs::write(&garbage, "not a certificate").expect("a file");
    for file in [garbage, ours.directory.join("missing.pem")] {
        let config: HttpConfig =
            serde_json::from_value(json!({ "tls": { "ca_file": file } })).expect("good settings");
        let error = ReadOnlyClient::new(&config)
            .expect_err("no certificate")
            .to_string();
        assert!(error.contains(&*file.to_string_lossy()), "{error}");
    }
}

#[tokio::test]
async fn a_head_request_and_the_environment() {
    let exporter = FakeExporter::start(Manner::Answer(Answer::new(200, "", ""))).await;
    client(json!({}))
        .head(&url(&exporter.url()))
        .await
        .expect("an answer");
    assert!(exporter.requests()[0].starts_with("HEAD /metrics HTTP/1.1\r\n"));
    let shown = url("http://n1:9400/metrics?token=s3cr3t#x");
    assert_eq!(format!("{shown} {shown:?}").matches("s3cr3t").count(), 0);
    let late = FakeExporter::start(Manner::Hang(vec![])).await;
    let late = url(&late.url());
    let client = client(json!({})).with_deadline_at_most(Duration::from_millis(50));
    let error = client.head(&late).await.expect_err("late");
    assert_eq!(error.kind, ErrorKind::Timeout);
}

#[test]
fn sources_have_no_other_client() {
    fn look(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                look(&path, found);
            } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("reqwest")) {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    look(&root, &mut found);
    found.retain(|path| {
        let path = path.strip_prefix(&root).expect("below the root");
        !path.starts_with("source/read_only") && path != Path::new("source/read_only.rs")
    });
    assert_eq!(found, [""; 0].map(PathBuf::from));
}
