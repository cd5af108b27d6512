//! A connection as the ring knows it, and the requests that are made for it.
//!
//! Absent from it: when they are made.

use std::os::fd::AsRawFd;

use io_uring::types::Fd;
use io_uring::{opcode, squeue};
use socket2::Socket;

use super::buffers::GROUP;
use crate::net::Link;

/// What an answer of the kernel's is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Kind {
    Connect,
    Receive,
    /// A send that is not to wait: it answers only when it could not send all.
    Send,
    /// A send that waits until there is room.
    LongSend,
    Cancel,
}

/// By what an answer is recognised: its kind, the connection and which of its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub kind: Kind,
    pub link: Link,
    pub generation: u32,
}

/// Sockets of a connection are counted modulo this; by then, what was under way is long done.
const GENERATIONS: u32 = 1 << 28;

impl Tag {
    pub fn number(self) -> u64 {
        (self.kind as u64) << 60 | u64::from(self.generation) << 32 | u64::from(self.link)
    }

    pub fn of(number: u64) -> Tag {
        let kind = match number >> 60 {
            0 => Kind::Connect,
            1 => Kind::Receive,
            2 => Kind::Send,
            3 => Kind::LongSend,
            _ => Kind::Cancel,
        };
        let generation = (number >> 32) as u32 & (GENERATIONS - 1);
        Tag { kind, link: number as u32, generation }
    }
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is none, or it is to be connected to the target of this number.
    #[default]
    Unasked,
    /// The kernel was asked to connect it.
    Connecting,
    /// It is established.
    Up,
}

#[derive(Default)]
pub(super) struct Slot {
    pub socket: Option<Socket>,
    pub target: usize,
    pub phase: Phase,
    /// Counts the sockets this connection has had, so that a stale answer is recognised.
    pub generation: u32,
    /// Whether it is among those for which the kernel is to be asked for something.
    pub listed: bool,
    /// Whether a receive is armed.
    pub receiving: bool,
    /// What is to be sent. Nothing is added from its being handed to the kernel until it is known
    /// how much of it was sent.
    pub out: Vec<u8>,
    /// What is to be sent before that, since the kernel had no room for it at once.
    pub held: Vec<u8>,
    /// Whether a send that waits is under way; it reads from `held`, which then stays as it is.
    pub sending: bool,
}

impl Slot {
    pub fn tag(&self, link: Link, kind: Kind) -> u64 {
        Tag { kind, link, generation: self.generation }.number()
    }

    pub fn is_current(&self, generation: u32) -> bool {
        self.generation == generation && self.socket.is_some()
    }

    /// Whether bytes may go to the kernel at once, past those that wait.
    pub fn is_clear(&self) -> bool {
        self.phase == Phase::Up && self.out.is_empty() && self.held.is_empty()
    }

    /// Forgets the socket and what was to be done with it.
    pub fn forget(&mut self) -> Option<Socket> {
        self.phase = Phase::Unasked;
        self.receiving = false;
        self.sending = false;
        self.out.clear();
        self.held.clear();
        self.generation = (self.generation + 1) % GENERATIONS;
        self.socket.take()
    }

    /// A receive for as long as there is something to receive.
    pub fn receive(&self, link: Link) -> Option<squeue::Entry> {
        let fd = Fd(self.socket.as_ref()?.as_raw_fd());
        let receive = opcode::RecvMulti::new(fd, GROUP).build();
        Some(receive.user_data(self.tag(link, Kind::Receive)))
    }

    /// A send of what is to be sent, as far as there is room at once.
    pub fn send(&self, link: Link) -> Option<squeue::Entry> {
        let fd = Fd(self.socket.as_ref()?.as_raw_fd());
        // Waiting for all makes a send that was cut short a failure, and so one that answers.
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL;
        let length = u32::try_from(self.out.len()).unwrap_or(u32::MAX);
        let send = opcode::Send::new(fd, self.out.as_ptr(), length).flags(flags).build();
        let send = send.flags(squeue::Flags::SKIP_SUCCESS);
        Some(send.user_data(self.tag(link, Kind::Send)))
    }

    /// A send of what is held, once there is room.
    pub fn long_send(&self, link: Link) -> Option<squeue::Entry> {
        let fd = Fd(self.socket.as_ref()?.as_raw_fd());
        let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let length = u32::try_from(self.held.len()).unwrap_or(u32::MAX);
        let send = opcode::Send::new(fd, self.held.as_ptr(), length).flags(flags).build();
        Some(send.user_data(self.tag(link, Kind::LongSend)))
    }
}

/// Calls off the request of that tag.
pub(super) fn cancel(tag: u64) -> squeue::Entry {
    let number = Tag { kind: Kind::Cancel, link: 0, generation: 0 }.number();
    let cancel = opcode::AsyncCancel::new(tag).build();
    cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_back_as_they_were() {
        for kind in [Kind::Connect, Kind::Receive, Kind::Send, Kind::LongSend, Kind::Cancel] {
            let tag = Tag { kind, link: u32::MAX - 3, generation: GENERATIONS - 2 };
            assert_eq!(Tag::of(tag.number()), tag);
        }
    }
}
