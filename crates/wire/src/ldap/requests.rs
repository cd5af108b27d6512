//! What a client asks, as the server's side reads it.

use super::answers::{Attributes, Texts};
use super::ber::Elements;
use super::filter;
use super::{Error, tag};

/// One message of a client's.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Its number, which its answers have too.
    pub number: u32,
    /// What it asks.
    pub asked: Asked<'a>,
}

/// What a client asks.
#[derive(Clone, Debug)]
pub enum Asked<'a> {
    /// To be known by this name.
    Bind {
        /// The name; empty for none.
        name: &'a [u8],
        /// The password, where the bind is a simple one.
        password: Option<&'a [u8]>,
    },
    /// Farewell; it has no answer.
    Unbind,
    /// For entries.
    Search {
        /// Where the search begins.
        base: &'a [u8],
        /// How many filters its filter is an alternative of, where it is one.
        alternatives: Option<usize>,
        /// The attributes that are wanted.
        attributes: Texts<'a>,
    },
    /// That an entry be changed.
    Modify {
        /// Its name.
        name: &'a [u8],
    },
    /// That there be an entry.
    Add {
        /// Its name.
        name: &'a [u8],
        /// What it has.
        attributes: Attributes<'a>,
    },
    /// That there be an entry no more.
    Delete {
        /// Its name.
        name: &'a [u8],
    },
    /// That an earlier request be forgotten; it has no answer.
    Abandon,
    /// What this name stands for.
    Extended {
        /// An object identifier.
        name: &'a [u8],
    },
    /// Something that is known and not read.
    Other(u8),
}

impl Asked<'_> {
    /// The kind of the message that ends its answer, if it has one.
    pub fn answered_by(&self) -> Option<u8> {
        Some(match self {
            Asked::Bind { .. } => tag::BOUND,
            Asked::Search { .. } => tag::DONE,
            Asked::Modify { .. } => tag::MODIFIED,
            Asked::Add { .. } => tag::ADDED,
            Asked::Delete { .. } => tag::DELETED,
            Asked::Extended { .. } => tag::EXTENSION,
            Asked::Other(tag::RENAME) => tag::RENAMED,
            Asked::Other(tag::COMPARE) => tag::COMPARED,
            Asked::Unbind | Asked::Abandon | Asked::Other(_) => return None,
        })
    }
}

impl<'a> Request<'a> {
    /// Reads a whole message, as [`super::Messages`] hands it out.
    pub fn read(message: &'a [u8]) -> Result<Request<'a>, Error> {
        let mut all = Elements(Elements(message).take(tag::SEQUENCE)?);
        let number = all.number(tag::INTEGER)?;
        let (operation, inside) = all.any()?;
        all.take_if(tag::CONTROLS)?;
        all.end()?;
        let mut elements = Elements(inside);
        let asked = match operation {
            tag::BIND => {
                elements.number(tag::INTEGER)?;
                let name = elements.take(tag::OCTETS)?;
                let (method, secret) = elements.any()?;
                Asked::Bind { name, password: (method == tag::SIMPLE).then_some(secret) }
            }
            tag::UNBIND => Asked::Unbind,
            tag::SEARCH => search(elements)?,
            tag::MODIFY => {
                let name = elements.take(tag::OCTETS)?;
                let mut changes = Elements(elements.take(tag::SEQUENCE)?);
                while !changes.is_empty() {
                    let mut change = Elements(changes.take(tag::SEQUENCE)?);
                    change.number(tag::ENUMERATED)?;
                    Attributes::read(change.0)?;
                }
                Asked::Modify { name }
            }
            tag::ADD => {
                let name = elements.take(tag::OCTETS)?;
                Asked::Add { name, attributes: Attributes::read(elements.take(tag::SEQUENCE)?)? }
            }
            tag::DELETE => Asked::Delete { name: inside },
            tag::ABANDON => Asked::Abandon,
            tag::EXTENDED => Asked::Extended { name: elements.take(tag::REQUEST_NAME)? },
            tag::RENAME | tag::COMPARE => Asked::Other(operation),
            other => return Err(Error::Operation(other)),
        };
        Ok(Request { number, asked })
    }
}

fn search(mut elements: Elements<'_>) -> Result<Asked<'_>, Error> {
    let base = elements.take(tag::OCTETS)?;
    for kind in [tag::ENUMERATED, tag::ENUMERATED, tag::INTEGER, tag::INTEGER] {
        elements.number(kind)?;
    }
    elements.take(tag::BOOLEAN)?;
    let (kind, inside) = elements.any()?;
    filter::check(kind, inside)?;
    let alternatives = (kind == filter::OR).then(|| {
        let mut filters = Elements(inside);
        std::iter::from_fn(|| filters.any().ok()).count()
    });
    let attributes = Texts::read(elements.take(tag::SEQUENCE)?)?;
    elements.end()?;
    Ok(Asked::Search { base, alternatives, attributes })
}
