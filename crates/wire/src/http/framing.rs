//! How long a message's body is and whether the connection outlives it (RFC 9112, 6.3 and 9.3).

use super::{Error, Header};

/// The version of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: the connection closes unless said otherwise.
    Http10,
    /// HTTP/1.1: the connection is kept unless said otherwise.
    Http11,
}

impl Version {
    /// From httparse's minor version.
    pub(super) fn of(minor: Option<u8>) -> Version {
        if minor == Some(1) { Version::Http11 } else { Version::Http10 }
    }
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the connection closes.
    UntilClose,
}

/// What the header fields say about body and connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    length: Option<u64>,
    transfer: Option<Transfer>,
    close: bool,
    keep_alive: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    Chunked,
    Other,
}

impl Fields {
    pub(super) fn read(headers: &[Header<'_>]) -> Result<Fields, Error> {
        let mut fields = Fields { length: None, transfer: None, close: false, keep_alive: false };
        for header in headers {
            // Only three names matter and no two have the same length.
            match header.name.len() {
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    for value in header.value.split(|&byte| byte == b',') {
                        fields.add_length(decimal(value.trim_ascii())?)?;
                    }
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    fields.add_transfer(header.value)?;
                }
                10 if header.name.eq_ignore_ascii_case("connection") => {
                    for option in header.value.split(|&byte| byte == b',') {
                        let option = option.trim_ascii();
                        fields.close |= option.eq_ignore_ascii_case(b"close");
                        fields.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        if fields.length.is_some() && fields.transfer.is_some() {
            // A sender must not give both; whoever does may be smuggling a second message.
            return Err(Error::AmbiguousLength);
        }
        Ok(fields)
    }

    fn add_length(&mut self, length: u64) -> Result<(), Error> {
        if self.length.is_some_and(|known| known != length) {
            return Err(Error::ContentLength);
        }
        self.length = Some(length);
        Ok(())
    }

    fn add_transfer(&mut self, value: &[u8]) -> Result<(), Error> {
        for coding in value.split(|&byte| byte == b',') {
            if self.transfer == Some(Transfer::Chunked) {
                // Chunked must come last and only once.
                return Err(Error::Chunk);
            }
            let chunked = coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
            self.transfer = Some(if chunked { Transfer::Chunked } else { Transfer::Other });
        }
        Ok(())
    }

    /// The framing of an answer that may have a body.
    pub(super) fn of_response(self, version: Version) -> Result<Framing, Error> {
        match (self.transfer, self.length) {
            (Some(_), _) if version == Version::Http10 => Err(Error::AmbiguousLength),
            (Some(Transfer::Chunked), _) => Ok(Framing::Chunked),
            (None, Some(length)) => Ok(Framing::Length(length)),
            (Some(Transfer::Other), _) | (None, None) => Ok(Framing::UntilClose),
        }
    }

    /// The framing of a request; one without a stated length has no body.
    pub(super) fn of_request(self, version: Version) -> Result<Framing, Error> {
        match (self.transfer, self.length) {
            (Some(_), _) if version == Version::Http10 => Err(Error::AmbiguousLength),
            (Some(Transfer::Chunked), _) => Ok(Framing::Chunked),
            (Some(Transfer::Other), _) => Err(Error::TransferEncoding),
            (None, length) => Ok(Framing::Length(length.unwrap_or(0))),
        }
    }

    /// Whether the sender lets the connection live on after this message.
    pub(super) fn keep(self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}

fn decimal(digits: &[u8]) -> Result<u64, Error> {
    if digits.is_empty() {
        return Err(Error::ContentLength);
    }
    digits.iter().try_fold(0u64, |number, &digit| {
        if !digit.is_ascii_digit() {
            return Err(Error::ContentLength);
        }
        let digit = u64::from(digit - b'0');
        number.checked_mul(10).and_then(|n| n.checked_add(digit)).ok_or(Error::ContentLength)
    })
}
