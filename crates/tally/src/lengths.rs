//! Histograms of lengths of time, and how they are encoded.

use std::io::Cursor;

use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::second::histogram;
use crate::{GREATEST_NS, TallyError};

/// A histogram of lengths in nanoseconds that many others can be added to.
pub type Histogram = hdrhistogram::Histogram<u64>;

/// One of nothing, with the bounds and the precision of Measurements.
pub fn empty() -> Histogram {
    histogram()
}

/// The histogram in V2 encoding without compression.
pub fn encode(histogram: &Histogram) -> Vec<u8> {
    let mut encoded = Vec::new();
    let written = V2Serializer::new().serialize(histogram, &mut encoded);
    written.expect("a histogram of these bounds is encoded to memory");
    encoded
}

/// Decodes a histogram in V2 encoding without compression, which must have the bounds and the
/// precision of Measurements.
pub fn decode(encoded: &[u8]) -> Result<Histogram, TallyError> {
    check_header(encoded).map_err(|what| TallyError::Histogram(what.to_owned()))?;
    Deserializer::new()
        .deserialize(&mut Cursor::new(encoded))
        .map_err(|error| TallyError::Histogram(error.to_string()))
}

/// Checks the header before a decoder believes it and asks for memory: cookie, length of the
/// payload, offset, digits, least and greatest value, ratio; all big-endian.
fn check_header(encoded: &[u8]) -> Result<(), &'static str> {
    const HEADER: usize = 40;
    let (header, payload) = encoded.split_at_checked(HEADER).ok_or("it is cut")?;
    let word = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    if word(0) != 0x1c84_9313 {
        return Err("it is not in V2 encoding");
    }
    if word(4) as usize != payload.len() {
        return Err("its length is wrong");
    }
    if word(8) != 0 || word(12) != 3 || long(16) != 1 || long(24) != GREATEST_NS {
        return Err("it has other bounds or another precision");
    }
    Ok(())
}
