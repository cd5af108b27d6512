//! The layer between a connection and its driver: TLS, by way of `rustls`.
//!
//! Bytes in, bytes out, as everywhere. Allocates on the path of a request, as the library does.
//! Absent: when a connection is to be secured, which its driver says.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme,
};

use crate::drivers::target::{Place, Target};
use crate::drivers::{Reason, Told};
use crate::error::{EngineError, HostError, PlanError};
use crate::plan;

/// How the connections of a trial are secured.
#[derive(Clone)]
pub struct Config {
    client: Arc<ClientConfig>,
    /// By target.
    names: Vec<ServerName<'static>>,
}

impl Config {
    /// What the Plan wants for these targets; `None` when none of them is secured.
    pub fn new(tls: &plan::Tls, targets: &[Target]) -> Result<Option<Config>, EngineError> {
        if !targets.iter().any(|target| target.tls) {
            return Ok(None);
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| EngineError::Bug(error.to_string()))?;
        let verifier: Arc<dyn ServerCertVerifier> = match (tls.verify, &tls.ca) {
            (false, _) => Arc::new(Anyone(provider)),
            (true, Some(path)) => Arc::new(Given::new(path, provider)?),
            (true, None) => {
                trusting(known()?, provider).map_err(|e| EngineError::Bug(e.to_string()))?
            }
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let client = builder.with_no_client_auth();
        let name = |target: &Target| {
            let name = match (&tls.server_name, &target.place) {
                (Some(name), _) | (None, Place::Host { name, .. }) => name,
                (None, Place::Unix(_)) => "localhost",
            };
            ServerName::try_from(name.to_owned()).map_err(|_| {
                PlanError::new("tls.server_name", name, "no certificate can be for this name")
            })
        };
        let names = targets.iter().map(name).collect::<Result<_, _>>()?;
        Ok(Some(Config { client: Arc::new(client), names }))
    }

    /// A session with a target that begins.
    pub fn session(&self, target: usize) -> Result<Session, Reason> {
        let name = self.names[target].clone();
        let connection =
            ClientConnection::new(Arc::clone(&self.client), name).map_err(|e| reason(&e))?;
        Ok(Session { connection })
    }
}

/// Whom this machine trusts.
fn known() -> Result<RootCertStore, HostError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let todo = "install ca-certificates, or name a file of them in `tls.ca`";
        return Err(HostError::new("this machine trusts no certificates", todo));
    }
    Ok(roots)
}

fn trusting(
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, VerifierBuilderError> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()
}

/// Takes the certificates in a file, and those signed by them.
#[derive(Debug)]
struct Given {
    certificates: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Given {
    fn new(path: &str, provider: Arc<CryptoProvider>) -> Result<Given, PlanError> {
        let wrong = |why: &dyn fmt::Display| PlanError::new("tls.ca", path, why.to_string());
        let read = CertificateDer::pem_file_iter(path).map_err(|e| wrong(&e))?;
        let certificates: Vec<_> = read.collect::<Result<_, _>>().map_err(|e| wrong(&e))?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|e| wrong(&e))?;
        }
        if roots.is_empty() {
            return Err(wrong(&"there is no certificate in the file"));
        }
        let signed = trusting(roots, provider).map_err(|e| wrong(&e))?;
        Ok(Given { certificates, signed })
    }
}

impl ServerCertVerifier for Given {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::Error::InvalidCertificate;
        let verified = self.signed.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // A certificate that signed itself and may sign others, as `openssl req -x509` makes
            // it, is no server's by the book; given as it is, it is the one that is meant.
            Err(InvalidCertificate(CertificateError::Other(_)))
                if self.certificates.contains(end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

fn reason(error: &rustls::Error) -> Reason {
    Reason::Tls(Told::new(error.to_string().as_bytes()))
}

/// One connection's.
pub struct Session {
    connection: ClientConnection,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    /// Whether the hand-shake goes on.
    pub fn is_opening(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes bytes off the wire and appends what they hold.
    pub fn read(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Reason> {
        while !bytes.is_empty() {
            // Reading from memory fails only where the library's own room is full.
            let taken = self.connection.read_tls(&mut bytes).unwrap_or(0);
            self.connection.process_new_packets().map_err(|error| reason(&error))?;
            self.drain(plain)?;
            if taken == 0 {
                return Err(Reason::Tls(Told::new(b"more came than can be taken in")));
            }
        }
        Ok(())
    }

    fn drain(&mut self, plain: &mut Vec<u8>) -> Result<(), Reason> {
        match self.connection.reader().read_to_end(plain) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(Reason::Tls(Told::new(error.to_string().as_bytes()))),
        }
    }

    /// Appends what goes on the wire for `plain`, and whatever else is to be said.
    pub fn write(&mut self, mut plain: &[u8], wire: &mut Vec<u8>) {
        loop {
            // Writing to memory does not fail; the library's room may be full, then it is emptied.
            let taken = self.connection.writer().write(plain).unwrap_or(0);
            plain = &plain[taken..];
            while self.connection.wants_write() {
                if self.connection.write_tls(wire).is_err() {
                    return;
                }
            }
            if plain.is_empty() || taken == 0 {
                return;
            }
        }
    }
}

/// Takes any certificate: for servers that made their own.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
