//! What a server says.

use super::ber::Elements;
use super::{Error, tag};

/// One message of a server's.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The number of the request that it belongs to; 0 where it answers none.
    pub number: u32,
    /// What it says.
    pub said: Said<'a>,
}

/// What a message of a server's says.
#[derive(Clone, Debug)]
pub enum Said<'a> {
    /// A search has found this; more may follow.
    Entry(Entry<'a>),
    /// A search would go on elsewhere, at one of these.
    Reference(Texts<'a>),
    /// A search is over.
    Done(Outcome<'a>),
    /// How a bind ended.
    Bound(Outcome<'a>),
    /// How a modification ended.
    Modified(Outcome<'a>),
    /// How an addition ended.
    Added(Outcome<'a>),
    /// How a deletion ended.
    Deleted(Outcome<'a>),
    /// How an extended request ended, with the response's name where it has one.
    Extended(Outcome<'a>, Option<&'a [u8]>),
    /// What is said in between, and may be passed over.
    Intermediate,
}

impl<'a> Message<'a> {
    /// Reads a whole message, as [`super::Messages`] hands it out.
    #[inline]
    pub fn read(message: &'a [u8]) -> Result<Message<'a>, Error> {
        let mut all = Elements(Elements(message).take(tag::SEQUENCE)?);
        let number = all.number(tag::INTEGER)?;
        let (operation, inside) = all.any()?;
        all.take_if(tag::CONTROLS)?;
        all.end()?;
        let outcome = || Outcome::read(inside).map(|(outcome, _)| outcome);
        let said = match operation {
            tag::ENTRY => Said::Entry(Entry::read(inside)?),
            tag::DONE => Said::Done(outcome()?),
            tag::REFERENCE => Said::Reference(Texts::read(inside)?),
            tag::BOUND => Said::Bound(outcome()?),
            tag::MODIFIED => Said::Modified(outcome()?),
            tag::ADDED => Said::Added(outcome()?),
            tag::DELETED => Said::Deleted(outcome()?),
            tag::EXTENSION => {
                let (outcome, mut rest) = Outcome::read(inside)?;
                Said::Extended(outcome, rest.take_if(tag::RESPONSE_NAME)?)
            }
            tag::INTERMEDIATE => Said::Intermediate,
            other => return Err(Error::Operation(other)),
        };
        Ok(Message { number, said })
    }
}

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// A code, [`super::codes`].
    pub code: u32,
    /// The part of the name that was found.
    pub matched: &'a [u8],
    /// What the server says to it.
    pub message: &'a [u8],
    /// Where else to ask.
    pub referral: Texts<'a>,
}

impl<'a> Outcome<'a> {
    /// An outcome, and what stands behind it.
    #[inline]
    fn read(inside: &'a [u8]) -> Result<(Outcome<'a>, Elements<'a>), Error> {
        let mut elements = Elements(inside);
        let code = elements.number(tag::ENUMERATED)?;
        let matched = elements.take(tag::OCTETS)?;
        let message = elements.take(tag::OCTETS)?;
        let referral = match elements.take_if(tag::REFERRAL)? {
            Some(referral) => Texts::read(referral)?,
            None => Texts::default(),
        };
        Ok((Outcome { code, matched, message, referral }, elements))
    }
}

/// An entry that a search has found.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its attributes that were asked for.
    pub attributes: Attributes<'a>,
}

impl<'a> Entry<'a> {
    #[inline]
    fn read(inside: &'a [u8]) -> Result<Entry<'a>, Error> {
        let mut elements = Elements(inside);
        let name = elements.take(tag::OCTETS)?;
        let attributes = Attributes(Elements(elements.take(tag::SEQUENCE)?));
        elements.end()?;
        attributes.check()?;
        Ok(Entry { name, attributes })
    }

    /// The first value of an attribute, whose name is compared without regard to case.
    #[inline]
    pub fn first(&self, attribute: &[u8]) -> Option<&'a [u8]> {
        let mut all = self.attributes.clone();
        all.find(|(name, _)| name.eq_ignore_ascii_case(attribute))?.1.next()
    }
}

/// Goes through attributes: the name and the values of each.
#[derive(Clone, Debug)]
pub struct Attributes<'a>(Elements<'a>);

impl<'a> Attributes<'a> {
    pub(super) fn read(inside: &'a [u8]) -> Result<Attributes<'a>, Error> {
        let attributes = Attributes(Elements(inside));
        attributes.check()?;
        Ok(attributes)
    }

    /// Whether all of it is as it must be.
    #[inline]
    fn check(&self) -> Result<(), Error> {
        let mut all = self.clone();
        while !all.0.is_empty() {
            all.one()?;
        }
        Ok(())
    }

    #[inline]
    fn one(&mut self) -> Result<(&'a [u8], Texts<'a>), Error> {
        let mut attribute = Elements(self.0.take(tag::SEQUENCE)?);
        let name = attribute.take(tag::OCTETS)?;
        let values = Texts::read(attribute.take(tag::SET)?)?;
        attribute.end()?;
        Ok((name, values))
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], Texts<'a>);

    #[inline]
    fn next(&mut self) -> Option<(&'a [u8], Texts<'a>)> {
        self.one().ok()
    }
}

/// Goes through texts: values, addresses.
#[derive(Clone, Debug, Default)]
pub struct Texts<'a>(Elements<'a>);

impl<'a> Texts<'a> {
    #[inline]
    pub(super) fn read(inside: &'a [u8]) -> Result<Texts<'a>, Error> {
        let mut elements = Elements(inside);
        while !elements.is_empty() {
            elements.take(tag::OCTETS)?;
        }
        Ok(Texts(Elements(inside)))
    }
}

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.take(tag::OCTETS).ok()
    }
}
