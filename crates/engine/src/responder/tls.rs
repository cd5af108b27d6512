//! Encryption around any protocol's null server, so that a secured trial's ruler is secured too.
//!
//! The certificate is made at the start, for `localhost`, and nobody trusts it. Absent: a
//! certificate that is given, and any question about the client's.

use std::error::Error;
use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};

use super::{Answered, Refused, Service, Session};

/// When the encryption of a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// With its first byte.
    AtOnce,
    /// When the protocol's own session says [`Answered::Secure`].
    WhenAsked,
}

/// A service whose sessions are encrypted.
pub struct Tls {
    config: Arc<ServerConfig>,
    service: Box<dyn Service>,
    begins: Begins,
}

impl Tls {
    /// Encrypts a service's sessions under a certificate made now.
    pub fn new(service: Box<dyn Service>, begins: Begins) -> Result<Tls, Box<dyn Error>> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
        Ok(Tls { config: Arc::new(config), service, begins })
    }
}

impl Service for Tls {
    fn session(&self) -> Box<dyn Session> {
        let mut session = Secured {
            config: Arc::clone(&self.config),
            session: self.service.session(),
            layer: None,
            plain: Vec::new(),
            taken: 0,
            said: Vec::new(),
        };
        if self.begins == Begins::AtOnce {
            // Without a layer, which only a defective library would refuse, nothing is understood.
            let _spoken_plainly = session.secure();
        }
        Box::new(session)
    }
}

struct Secured {
    config: Arc<ServerConfig>,
    session: Box<dyn Session>,
    layer: Option<ServerConnection>,
    /// What arrived, decrypted, and how much of it the session has taken.
    plain: Vec<u8>,
    taken: usize,
    /// What the session says, until it is encrypted.
    said: Vec<u8>,
}

impl Secured {
    fn secure(&mut self) -> Result<(), Refused> {
        let mut layer = ServerConnection::new(Arc::clone(&self.config)).map_err(|_| Refused)?;
        // Answers of any size are handed over whole, and drained at once.
        layer.set_buffer_limit(None);
        self.layer = Some(layer);
        Ok(())
    }

    /// Appends what the session has said, and whatever else is to be said, encrypted.
    fn send(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(layer) = &mut self.layer else {
            out.append(&mut self.said);
            return Ok(());
        };
        layer.writer().write_all(&self.said)?;
        self.said.clear();
        while layer.wants_write() {
            layer.write_tls(out)?;
        }
        Ok(())
    }
}

fn decrypt(layer: &mut ServerConnection, input: &mut &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
    while !input.is_empty() {
        layer.read_tls(input)?;
        layer.process_new_packets().map_err(io::Error::other)?;
        match layer.reader().read_to_end(plain) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

impl Session for Secured {
    fn greet(&mut self, out: &mut Vec<u8>) {
        self.session.greet(&mut self.said);
        // What cannot be encrypted yet waits in the layer for the hand-shake's end.
        let _memory_takes_it = self.send(out);
    }

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        let Some(layer) = &mut self.layer else {
            let answered = self.session.answer(input, out)?;
            if answered != Answered::Secure {
                return Ok(answered);
            }
            self.secure()?;
            return Ok(Answered::Aside);
        };
        decrypt(layer, input, &mut self.plain).map_err(|_| Refused)?;
        let mut rest = &self.plain[self.taken..];
        let answered = self.session.answer(&mut rest, &mut self.said)?;
        self.taken = self.plain.len() - rest.len();
        if rest.is_empty() {
            self.plain.clear();
            self.taken = 0;
        }
        self.send(out).map_err(|_| Refused)?;
        Ok(answered)
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        self.session.deny(&mut self.said);
        let _memory_takes_it = self.send(out);
    }
}
