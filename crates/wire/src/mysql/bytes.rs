//! Numbers and texts within a payload, read from its front.

use super::Error;

/// What is left of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

const CUT: Error = Error::Malformed("a packet ends too early");

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(CUT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Error> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u24(&mut self) -> Result<u32, Error> {
        let [a, b, c] = self.array()?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of one to nine bytes.
    pub(super) fn length(&mut self) -> Result<u64, Error> {
        match self.u8()? {
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            0xfb | 0xff => Err(Error::Malformed("a length that is none")),
            short => Ok(u64::from(short)),
        }
    }

    /// Bytes with their length before them.
    pub(super) fn text(&mut self) -> Result<&'a [u8], Error> {
        let length = self.length()?;
        self.take(usize::try_from(length).map_err(|_| CUT)?)
    }

    /// Bytes up to a zero, which may be missing at the end of the payload.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(self.0.len());
        let (text, rest) = self.0.split_at(end);
        self.0 = rest.get(1..).unwrap_or_default();
        text
    }
}

/// Appends a number in one to nine bytes.
pub(super) fn put_length(length: u64, out: &mut Vec<u8>) {
    match length {
        0..=0xfa => out.push(length as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// Appends bytes with their length before them.
pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    put_length(text.len() as u64, out);
    out.extend_from_slice(text);
}

/// Appends bytes and a zero.
pub(super) fn put_zeroed(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
    out.push(0);
}
