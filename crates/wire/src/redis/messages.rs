//! The messages of one direction of a connection, cut out of whatever pieces they arrive in.

use super::scan::{Scan, Wants};
use super::{Error, MAX_MESSAGE_BYTES};

/// Cuts replies out of what arrives. One that lies whole in a piece is handed out from there; only
/// a torn one is copied, and no byte is scanned twice.
#[derive(Debug)]
pub struct Messages {
    /// The beginning of a torn message, or the whole of it once it was handed out.
    torn: Vec<u8>,
    scan: Scan,
    /// Whether `torn` was handed out.
    used: bool,
}

impl Default for Messages {
    fn default() -> Messages {
        Messages { torn: Vec::new(), scan: Scan::NEW, used: false }
    }
}

impl Messages {
    /// Forgets what was torn, for a new connection.
    pub fn reset(&mut self) {
        self.torn.clear();
        self.scan = Scan::NEW;
        self.used = false;
    }

    /// Whether a message has begun that has not come whole.
    pub fn is_torn(&self) -> bool {
        !self.used && !self.torn.is_empty()
    }

    /// Takes the next whole message off the front of `input`; `None` when more must arrive, and
    /// then all of `input` is taken. After an error the connection is of no use.
    #[inline]
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<&'s [u8]>, Error> {
        if std::mem::take(&mut self.used) {
            self.torn.clear();
        }
        if self.torn.is_empty() {
            if let Some(end) = string(input) {
                let (message, rest) = input.split_at(end);
                *input = rest;
                return Ok(Some(message));
            }
            return self.cut(input);
        }
        self.mend(input)
    }

    /// Takes a message of any kind off the front of `input`.
    fn cut<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<&'i [u8]>, Error> {
        if input.is_empty() {
            return Ok(None);
        }
        self.scan = Scan::NEW;
        match self.scan.go(input)? {
            Ok(end) => {
                let (message, rest) = input.split_at(end);
                *input = rest;
                Ok(Some(message))
            }
            Err(_wants) => {
                self.torn.extend_from_slice(input);
                *input = &[];
                Ok(None)
            }
        }
    }

    /// Goes on with a torn message.
    fn mend<'s>(&'s mut self, input: &mut &[u8]) -> Result<Option<&'s [u8]>, Error> {
        loop {
            let wants = match self.scan.go(&self.torn)? {
                Ok(_end) => {
                    self.used = true;
                    return Ok(Some(&self.torn));
                }
                Err(wants) => wants,
            };
            if input.is_empty() {
                return Ok(None);
            }
            let count = match wants {
                Wants::Until(end) => end - self.torn.len(),
                Wants::Line => memchr::memchr(b'\n', input).map_or(input.len(), |end| end + 1),
            };
            let (part, rest) = input.split_at(count.min(input.len()));
            self.torn.extend_from_slice(part);
            *input = rest;
            if self.torn.len() > MAX_MESSAGE_BYTES {
                return Err(Error::TooLong);
            }
        }
    }
}

/// The length of the short string that lies whole at the front of `input`: what nearly every
/// answer is, found without the general scan.
#[inline]
fn string(input: &[u8]) -> Option<usize> {
    let [b'$', digits @ ..] = input else { return None };
    let mut length = 0;
    for (index, byte) in digits.iter().take(7).enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            length = length * 10 + usize::from(digit);
            continue;
        }
        let end = 1 + index + 2 + length + 2;
        let framed = index > 0
            && input.get(1 + index..index + 3) == Some(b"\r\n")
            && input.get(end - 2..end) == Some(b"\r\n");
        return framed.then_some(end);
    }
    None
}
