//! Packets: three bytes of length, one of number, and a payload; one that is full is continued.

use super::Error;

const HEADER_BYTES: usize = 4;

/// A packet with this many bytes is continued by the next one.
const FULL: usize = 0xff_ffff;

/// The longest payload that is read, continuations included.
pub const MOST_PAYLOAD_BYTES: usize = 64 << 20;

/// Takes payloads off a stream of bytes, and watches the packets' numbers.
#[derive(Debug, Default)]
pub struct Packets {
    /// A packet that has not come whole, header included.
    torn: Vec<u8>,
    /// The payloads of full packets, before what continues them.
    joined: Vec<u8>,
    /// Whether what the two hold has been handed out.
    used: bool,
    /// The number of the next packet.
    sequence: u8,
}

impl Packets {
    /// The next packet begins anew and has this number.
    pub fn restart(&mut self, sequence: u8) {
        self.torn.clear();
        self.joined.clear();
        self.used = false;
        self.sequence = sequence;
    }

    /// The next packet has this number.
    pub fn expect(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// The number of the next packet, which is the one to answer the last packet with.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Whether part of a packet has come.
    pub fn within(&self) -> bool {
        !(self.used || self.torn.is_empty() && self.joined.is_empty())
    }

    /// Takes the next payload off the front of `input`; `None` when it is used up and the payload
    /// goes on. After an error the connection is of no use.
    #[inline]
    pub fn next<'p, 'i: 'p>(&'p mut self, input: &mut &'i [u8]) -> Result<Option<&'p [u8]>, Error> {
        if self.used {
            self.torn.clear();
            self.joined.clear();
            self.used = false;
        }
        if self.torn.is_empty()
            && self.joined.is_empty()
            && let Some((header, rest)) = input.split_first_chunk()
        {
            let length = length(*header);
            if length < FULL
                && let Some((payload, rest)) = rest.split_at_checked(length)
            {
                self.count(header[3])?;
                *input = rest;
                return Ok(Some(payload));
            }
        }
        self.gather(input)
    }

    fn gather(&mut self, input: &mut &[u8]) -> Result<Option<&[u8]>, Error> {
        loop {
            self.fill(HEADER_BYTES, input);
            let Some((&header, _)) = self.torn.split_first_chunk() else { return Ok(None) };
            let length = length(header);
            if self.joined.len() + length > MOST_PAYLOAD_BYTES {
                return Err(Error::TooLong);
            }
            self.fill(HEADER_BYTES + length, input);
            if self.torn.len() < HEADER_BYTES + length {
                return Ok(None);
            }
            self.count(header[3])?;
            if length < FULL && self.joined.is_empty() {
                self.used = true;
                return Ok(Some(&self.torn[HEADER_BYTES..]));
            }
            self.joined.extend_from_slice(&self.torn[HEADER_BYTES..]);
            self.torn.clear();
            if length < FULL {
                self.used = true;
                return Ok(Some(&self.joined));
            }
        }
    }

    /// Gathers up to this many bytes; memory grows with what came, not with what was announced.
    fn fill(&mut self, upto: usize, input: &mut &[u8]) {
        let wanted = upto.saturating_sub(self.torn.len()).min(input.len());
        let (taken, rest) = input.split_at(wanted);
        self.torn.extend_from_slice(taken);
        *input = rest;
    }

    fn count(&mut self, found: u8) -> Result<(), Error> {
        let expected = self.sequence;
        self.sequence = expected.wrapping_add(1);
        if found == expected { Ok(()) } else { Err(Error::Sequence { expected, found }) }
    }
}

fn length(header: [u8; HEADER_BYTES]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

/// Appends a packet whose payload `write` appends; gives the number of the packet behind it.
#[inline]
pub fn packet(mut sequence: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let mut start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    write(out);
    loop {
        let behind = start + HEADER_BYTES;
        let length = (out.len() - behind).min(FULL);
        let [a, b, c, _] = (length as u32).to_le_bytes();
        out[start..behind].copy_from_slice(&[a, b, c, sequence]);
        sequence = sequence.wrapping_add(1);
        if length < FULL {
            return sequence;
        }
        start = behind + FULL;
        out.splice(start..start, [0; HEADER_BYTES]);
    }
}
