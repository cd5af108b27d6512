//! A file that is always intact: what is read is what was laid out, and every write is accepted.

use super::{Answered, Refused, Service, Session};
use crate::file::{Content, Order, Verb, answer};

/// A simulated file.
pub struct File(Content);

impl File {
    /// A file of this content.
    pub fn new(content: Content) -> File {
        File(content)
    }
}

impl Service for File {
    fn session(&self) -> Box<dyn Session> {
        Box::new(FileSession { content: self.0, ordered: Vec::new() })
    }
}

struct FileSession {
    content: Content,
    /// The part of an order that has come.
    ordered: Vec<u8>,
}

impl Session for FileSession {
    fn greet(&mut self, _out: &mut Vec<u8>) {}

    fn answer(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<Answered, Refused> {
        self.ordered.extend_from_slice(std::mem::take(input));
        let Some((order, payload)) = Order::read(&self.ordered) else {
            return Ok(Answered::More);
        };
        let moved = match order.verb {
            Verb::Read => i64::from(order.length),
            Verb::Write => payload.len() as i64,
            Verb::SyncData | Verb::SyncAll => 0,
        };
        out.extend_from_slice(&answer(moved));
        if order.verb == Verb::Read {
            self.content.append(order.offset, 0, order.length as usize, out);
        }
        let taken = Order::BYTES + payload.len();
        self.ordered.drain(..taken);
        Ok(Answered::Request { keep: true })
    }

    fn deny(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&answer(-i64::from(libc::EIO)));
    }
}
