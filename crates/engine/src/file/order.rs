//! Orders and answers as bytes, in this machine's own order since they never leave the process.

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read this many bytes.
    Read,
    /// Write the bytes that follow the order.
    Write,
    /// Wait until the content is kept.
    SyncData,
    /// Wait until content and metadata are kept.
    SyncAll,
}

/// Something to be done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What.
    pub verb: Verb,
    /// How many bytes.
    pub length: u32,
    /// Where in the file.
    pub offset: u64,
}

/// What an answer takes beside the bytes that were read.
pub const ANSWER_BYTES: usize = 8;

impl Order {
    /// What an order takes beside the bytes to be written.
    pub const BYTES: usize = 16;

    /// As bytes; those to be written follow.
    pub fn bytes(self) -> [u8; Order::BYTES] {
        let mut bytes = [0; Order::BYTES];
        bytes[..8].copy_from_slice(&self.offset.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_ne_bytes());
        bytes[12] = self.verb as u8;
        bytes
    }

    /// The order that begins here and the bytes it is to write; `None` where it is not whole.
    pub fn read(bytes: &[u8]) -> Option<(Order, &[u8])> {
        let (head, rest) = bytes.split_first_chunk::<{ Order::BYTES }>()?;
        let offset = u64::from_ne_bytes(*head.first_chunk()?);
        let length = u32::from_ne_bytes(*head[8..].first_chunk()?);
        let verbs = [Verb::Read, Verb::Write, Verb::SyncData, Verb::SyncAll];
        let verb = *verbs.get(usize::from(head[12]))?;
        let payload = if verb == Verb::Write { length as usize } else { 0 };
        Some((Order { verb, length, offset }, rest.get(..payload)?))
    }
}

/// The beginning of an answer: how many bytes were moved, or the negative number of an error.
pub fn answer(result: i64) -> [u8; ANSWER_BYTES] {
    result.to_ne_bytes()
}

/// What [`answer`] was given, and what was read; `None` where that is not whole.
pub fn result_of(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((i64::from_ne_bytes(*head), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_come_back_as_they_were_and_not_before_they_are_whole() {
        for verb in [Verb::Read, Verb::Write, Verb::SyncData, Verb::SyncAll] {
            let order = Order { verb, length: 3, offset: u64::MAX - 5 };
            let mut bytes = order.bytes().to_vec();
            bytes.extend(b"abc");
            let payload: &[u8] = if verb == Verb::Write { b"abc" } else { b"" };
            assert_eq!(Order::read(&bytes), Some((order, payload)));
            let whole = Order::BYTES + payload.len();
            assert!((0..whole).all(|length| Order::read(&bytes[..length]).is_none()));
        }
        assert_eq!(Order::read(&[9; Order::BYTES]), None);
    }

    #[test]
    fn answers_come_back_as_they_were() {
        let mut bytes = answer(-5).to_vec();
        bytes.extend(b"rest");
        assert_eq!(result_of(&bytes), Some((-5, &b"rest"[..])));
        assert_eq!(result_of(&bytes[..7]), None);
    }
}
