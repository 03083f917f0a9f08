//! Certificates: which servers are trusted, and who we are to them.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::{SetupError, TlsConfig};

/// The TLS settings of a client. Where the system has no authorities and none are configured,
/// every `https` target fails with a TLS error that says so; `http` targets need none.
pub(super) fn client_config(config: &TlsConfig) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| SetupError::Client(error.to_string()))?;
    let verifier = Verifier::new(config, provider)?;
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let (Some(certificate), Some(key)) = (&config.cert_file, &config.key_file) else {
        return Ok(builder.with_no_client_auth());
    };
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| pem_error(key, &error))?;
    builder
        .with_client_auth_cert(chain, private)
        .map_err(|error| SetupError::Pem {
            path: certificate.clone(),
            why: format!("does not go with its key: {error}"),
        })
}

/// The web's rules, with the two exceptions that an operator can ask for.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trust: Trust,
    /// The name to verify instead of the URL's host.
    name: Option<ServerName<'static>>,
}

#[derive(Debug)]
enum Trust {
    /// Whatever is shown, as `insecure_skip_verify` asks.
    Anything,
    /// What an authority vouches for.
    Authorities(Arc<WebPkiServerVerifier>),
    /// There is no authority.
    Nothing,
}

impl Verifier {
    fn new(config: &TlsConfig, provider: Arc<CryptoProvider>) -> Result<Self, SetupError> {
        let name = config.server_name.clone();
        let name = name.map(ServerName::try_from).transpose();
        let name = name.map_err(|error| SetupError::Client(error.to_string()))?;
        let trust = if config.insecure_skip_verify {
            Trust::Anything
        } else {
            Trust::new(config.ca_file.as_deref(), &provider)?
        };
        Ok(Self {
            provider,
            trust,
            name,
        })
    }
}

impl Trust {
    /// Trust in the authorities of a file, or the system's.
    fn new(file: Option<&Path>, provider: &Arc<CryptoProvider>) -> Result<Self, SetupError> {
        let mut roots = RootCertStore::empty();
        if let Some(file) = file {
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(|error| SetupError::Pem {
                    path: file.to_owned(),
                    why: error.to_string(),
                })?;
            }
        } else {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        if roots.is_empty() {
            return Ok(Self::Nothing);
        }
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map(Self::Authorities)
            .map_err(|error| SetupError::Client(error.to_string()))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let name = self.name.as_ref().unwrap_or(server_name);
        match &self.trust {
            Trust::Authorities(rules) => {
                rules.verify_server_cert(end_entity, intermediates, name, ocsp_response, now)
            }
            Trust::Anything => Ok(ServerCertVerified::assertion()),
            Trust::Nothing => Err(rustls::Error::General(
                "this system has no certificate authorities; set tls.ca_file".to_owned(),
            )),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Every certificate of a PEM file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(|error| pem_error(path, &error))?
        .collect();
    let found = found.map_err(|error| pem_error(path, &error))?;
    if found.is_empty() {
        return Err(SetupError::Pem {
            path: path.to_owned(),
            why: "holds no certificate".to_owned(),
        });
    }
    Ok(found)
}

fn pem_error(path: &Path, error: &rustls::pki_types::pem::Error) -> SetupError {
    SetupError::Pem {
        path: path.to_owned(),
        why: error.to_string(),
    }
}
