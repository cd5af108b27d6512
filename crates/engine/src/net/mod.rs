//! The network as a worker sees it: numbered connections, a clock, and batches of events.
//!
//! A provider is either real ([`uring`], [`epoll`]) or simulated ([`sim`]); workers are generic
//! over it, so that time and I/O are arguments to everything above. Data is handed over as slices
//! that live for one call, which suits a shared read buffer as well as a ring of buffers that the
//! kernel fills. Absent from it: protocols, time-outs, reconnecting and counting, which are the
//! worker's.

mod address;
pub mod choice;
pub mod epoll;
pub mod file;
pub(crate) mod pages;
pub mod sim;
pub mod uring;
pub mod waiting;

use std::fmt;
use std::io;

use base::Instant;

pub use address::Address;

/// The number of a connection among its worker's, from 0.
pub type Link = u32;

/// Why a connection could not be made, or is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The other side closed it in an orderly way.
    Closed,
    /// The operating system's error.
    Os(i32),
}

impl Fault {
    fn of(error: &io::Error) -> Fault {
        Fault::Os(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Closed => f.write_str("connection closed"),
            Fault::Os(libc::ECONNREFUSED) => f.write_str("connection refused"),
            Fault::Os(libc::ECONNRESET) => f.write_str("connection reset"),
            Fault::Os(libc::EPIPE) => f.write_str("connection closed while sending"),
            Fault::Os(libc::EADDRNOTAVAIL) => f.write_str("no free local port"),
            Fault::Os(libc::EMFILE) => f.write_str("no free file descriptor"),
            Fault::Os(code) => write!(f, "{}", io::Error::from_raw_os_error(*code)),
        }
    }
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It is established.
    Connected(Link),
    /// Bytes arrived.
    Data(Link, &'a [u8]),
    /// It could not be established, or is no more. The provider has let go of it.
    Lost(Link, Fault),
}

/// What may be done at any time, also while an event is handled.
///
/// Nothing here fails at once: what goes wrong arrives as [`Event::Lost`].
pub trait Io {
    /// The time now.
    fn now(&self) -> Instant;
    /// Begins to connect to the target of that number; the connection must not be there yet.
    fn connect(&mut self, link: Link, target: usize);
    /// Sends bytes behind those sent before.
    fn send(&mut self, link: Link, bytes: &[u8]);
    /// Lets go of a connection; no event of it is delivered any more.
    fn close(&mut self, link: Link);
}

/// Who takes events.
pub trait Handler<I: Io> {
    /// Takes one event.
    fn on(&mut self, io: &mut I, event: Event<'_>);
}

/// A network provider.
pub trait Net {
    /// The part of it that handlers use.
    type Io: Io;

    /// The part of it that handlers use.
    fn io(&mut self) -> &mut Self::Io;

    /// Waits from `now` until there are events or the deadline has come, whichever is earlier, and
    /// tells the time at which waiting ended. It may return early with nothing to deliver.
    fn wait(&mut self, now: Instant, deadline: Instant) -> io::Result<Instant>;

    /// Hands over the events that [`Net::wait`] found.
    fn deliver(&mut self, handler: &mut impl Handler<Self::Io>);
}
