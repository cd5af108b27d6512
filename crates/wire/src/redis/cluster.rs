//! Redis Cluster: the slot that a key lies in, and what servers say about who has which.

use super::{Kind, Reply};

/// How many slots there are.
pub const SLOTS: u16 = 16384;

/// The slot of a key: of what stands between its first `{` and the next `}`, where that is not
/// nothing, so that keys can be kept together.
///
/// Source: Redis Cluster specification, "Key distribution model": CRC16 (XMODEM) modulo 16384.
#[inline]
pub fn slot(key: &[u8]) -> u16 {
    crc16(tag(key).unwrap_or(key)) % SLOTS
}

fn tag(key: &[u8]) -> Option<&[u8]> {
    let (_, behind) = key.split_at(memchr::memchr(b'{', key)? + 1);
    let length = memchr::memchr(b'}', behind)?;
    (length > 0).then(|| &behind[..length])
}

fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| (sum << 8) ^ TABLE[usize::from((sum >> 8) as u8 ^ byte)])
}

/// The remainder of each byte, by the polynomial 0x1021.
const TABLE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            let carry = sum & 0x8000 != 0;
            sum <<= 1;
            if carry {
                sum ^= 0x1021;
            }
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

/// A server, as the servers call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// An address or a name; empty for that of the server that says so.
    pub host: &'a [u8],
    /// Its port.
    pub port: u16,
}

/// An error that says who is to be asked instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redirect<'a> {
    /// Whether that holds for this once, with `ASKING` before it: the slot is being moved.
    pub asking: bool,
    /// The slot that it is about.
    pub slot: u16,
    /// Who is to be asked.
    pub node: Node<'a>,
}

impl Redirect<'_> {
    /// Reads an error: `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`; none if it says
    /// something else.
    pub fn read(error: &[u8]) -> Option<Redirect<'_>> {
        let mut words = error.split(|byte| *byte == b' ');
        let asking = match words.next()? {
            b"MOVED" => false,
            b"ASK" => true,
            _ => return None,
        };
        let slot = number(words.next()?).filter(|slot| *slot < SLOTS)?;
        let place = words.next()?;
        let (host, port) = place.split_at(memchr::memrchr(b':', place)?);
        Some(Redirect { asking, slot, node: Node { host, port: number(&port[1..])? } })
    }
}

/// Slots in a row, and the server that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// The first slot.
    pub first: u16,
    /// The last one.
    pub last: u16,
    /// Their master.
    pub node: Node<'a>,
}

/// Reads the reply to `CLUSTER SLOTS`; ranges that are none are left out.
pub fn ranges(reply: Reply<'_>) -> impl Iterator<Item = Range<'_>> {
    let mut scalars = reply.scalars();
    // Nowhere but at the beginning of a range do two numbers follow one another, and its master
    // stands next.
    let mut before = None;
    std::iter::from_fn(move || {
        loop {
            let (kind, text) = scalars.next()?;
            let here = if kind == Kind::Integer { number(text) } else { None };
            let (Some(first), Some(last)) = (before.take(), here) else {
                before = here;
                continue;
            };
            let ((_, host), (_, port)) = (scalars.next()?, scalars.next()?);
            if let Some(port) = number(port)
                && first <= last
                && last < SLOTS
            {
                return Some(Range { first, last, node: Node { host, port } });
            }
        }
    })
}

fn number(text: &[u8]) -> Option<u16> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
