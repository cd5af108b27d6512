//! LDAP: everyone may bind, every change is accepted, and every search finds an entry.

use std::sync::Arc;

use wire::ldap::{Asked, Messages, Request, codes, say};

use super::{Answered, Refused, Service, Session};

/// A directory whose entries all have the same attributes.
#[derive(Default)]
pub struct Ldap {
    attributes: Arc<Vec<(String, String)>>,
}

impl Ldap {
    /// Attributes and a value of each.
    pub fn new(attributes: Vec<(String, String)>) -> Ldap {
        Ldap { attributes: Arc::new(attributes) }
    }
}

impl Service for Ldap {
    fn session(&self) -> Box<dyn Session> {
        Box::new(LdapSession {
            attributes: Arc::clone(&self.attributes),
            messages: Messages::default(),
            last: None,
        })
    }
}

struct LdapSession {
    attributes: Arc<Vec<(String, String)>>,
    messages: Messages,
    /// The number of the last request, and the kind of message that ends its answer.
    last: Option<(u32, u8)>,
}

impl Session for LdapSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        let Some(message) = self.messages.next(input).map_err(|_| Refused)? else {
            return Ok(Answered::More);
        };
        let Request { number, asked } = Request::read(message).map_err(|_| Refused)?;
        if let Asked::Unbind = asked {
            return Err(Refused);
        }
        let Some(kind) = asked.answered_by() else { return Ok(Answered::Aside) };
        self.last = Some((number, kind));
        let mut code = codes::SUCCESS;
        match asked {
            Asked::Search { base, alternatives, .. } => {
                // What asks for any of several is given as many.
                for _ in 0..alternatives.unwrap_or(1) {
                    entry(number, base, &self.attributes, out);
                }
            }
            Asked::Extended { .. } | Asked::Other(_) => code = codes::UNWILLING_TO_PERFORM,
            _ => {}
        }
        say::outcome(kind, number, code, "", out);
        let opens = matches!(asked, Asked::Bind { .. } | Asked::Extended { .. });
        Ok(if opens { Answered::Aside } else { Answered::Request { keep: true } })
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        if let Some((number, kind)) = self.last {
            say::outcome(kind, number, codes::BUSY, "this server says no", out);
        }
    }
}

fn entry(number: u32, name: &[u8], attributes: &[(String, String)], out: &mut Vec<u8>) {
    let attributes = attributes.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    say::entry(number, name, attributes.map(|(name, value)| (name, [value])), out);
}
