//! Completions through `io_uring`: one entry into the kernel a batch, which hands over what is to
//! be sent, takes in what arrived, and waits until the deadline.
//!
//! Receives are armed once a connection and find their buffers in a ring of them. What is asked of
//! the kernel is made up at the last moment from the state each connection is then in, so that
//! nothing is asked for a socket that is closed by then. Absent from it: registered descriptors,
//! and kernels before 6.1, which lack what it is built on; [`probe`] tells.

mod buffers;
mod links;
pub(super) mod ring;
mod slot;

use std::io;

use base::clock::Clock;
use base::{Instant, Nanos};
use io_uring::cqueue;
use socket2::{Domain, Socket, Type};

use super::address::Target;
use super::waiting::{Source, Waiter, Waiting};
use super::{Address, Event, Fault, Handler, Io, Link, Net};
use crate::process;
use buffers::Buffers;
use ring::Ring;

pub use links::Links;

/// A connection of a generation that is no more, and why.
type Loss = (Link, u32, Fault);

/// The provider; made by the thread that uses it.
pub struct Uring {
    // The ring within goes first, and only then the memory that it was given.
    links: Links,
    buffers: Buffers,
    waiter: Waiter,
    // What is handed over at the moment.
    found: Vec<cqueue::Entry>,
    lost: Vec<Loss>,
    established: Vec<(Link, u32)>,
}

impl Uring {
    /// A provider of `links` connections to `targets`.
    pub fn new(
        clock: Clock,
        targets: &[Address],
        links: u32,
        waiting: Waiting,
    ) -> io::Result<Uring> {
        process::wake_punctually();
        let ring = Ring::new(links, waiting.spins())?;
        if matches!(waiting, Waiting::Coalesce { .. }) && !ring.coalesces() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the buffers are put beside the ring, behind it in the order of their end.
        let buffers = unsafe { Buffers::new(&ring, links)? };
        let room = 2 * links as usize;
        Ok(Uring {
            links: Links::new(clock, Target::all(targets)?, ring, links, waiting),
            buffers,
            waiter: Waiter::new(waiting),
            found: Vec::with_capacity(room),
            lost: Vec::with_capacity(room),
            established: Vec::with_capacity(room),
        })
    }
}

impl Net for Uring {
    type Io = Links;

    fn io(&mut self) -> &mut Links {
        &mut self.links
    }

    fn wait(&mut self, now: Instant, deadline: Instant) -> io::Result<Instant> {
        self.links.hand_over()?;
        if self.links.has_news() || now >= deadline {
            self.links.enter()?;
            return Ok(now);
        }
        self.waiter.wait(&mut self.links, now, deadline)
    }

    fn deliver(&mut self, handler: &mut impl Handler<Links>) {
        let Uring { links, buffers, found, lost, established, .. } = self;
        links.take_news(found, lost, established);
        for (link, generation) in established.drain(..) {
            if links.is_current(link, generation) {
                handler.on(links, Event::Connected(link));
            }
        }
        for answer in found.drain(..) {
            links.deliver(&answer, buffers, handler);
        }
        for loss in lost.drain(..) {
            links.lose(loss, handler);
        }
    }
}

/// Tries whether a provider for so many connections can be had, and works; says why not.
pub fn probe(links: u32, waiting: Waiting) -> Result<(), String> {
    match exchange(links, waiting) {
        Ok(true) => Ok(()),
        Ok(false) => Err("io_uring does not move bytes here".to_owned()),
        Err(error) => Err(why_not(&error, waiting)),
    }
}

/// Why `io_uring` cannot be had.
pub(super) fn why_not(error: &io::Error, waiting: Waiting) -> String {
    match (error.raw_os_error(), error.kind()) {
        (Some(libc::ENOSYS), _) => "this kernel has no io_uring".to_owned(),
        (Some(libc::EPERM | libc::EACCES), _) => "io_uring is forbidden here \
             (sysctl kernel.io_uring_disabled, or a filter of system calls)"
            .to_owned(),
        (Some(libc::EINVAL | libc::EOPNOTSUPP), _) | (None, io::ErrorKind::Unsupported) => {
            let least = if waiting.spins() || waiting == Waiting::Sleep { "6.1" } else { "6.12" };
            format!("this kernel's io_uring is too old: Linux {least} is needed")
        }
        (Some(libc::ENOMEM), _) => "too little memory may be locked for io_uring".to_owned(),
        _ => format!("io_uring cannot be set up: {error}"),
    }
}

/// Sends a byte through a socket pair and receives one; says whether both arrived.
fn exchange(links: u32, waiting: Waiting) -> io::Result<bool> {
    struct Ear(bool);
    impl Handler<Links> for Ear {
        fn on(&mut self, _: &mut Links, event: Event<'_>) {
            self.0 |= matches!(event, Event::Data(0, b"!"));
        }
    }
    let clock = Clock { origin_monotonic_ns: base::clock::monotonic_ns() };
    let mut net = Uring::new(clock, &[], links.max(1), waiting)?;
    let (ours, theirs) = Socket::pair(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    theirs.send(b"!")?;
    net.links.adopt(0, ours);
    net.links.send(0, b"?");
    let mut ear = Ear(false);
    let last = clock.now() + Nanos(1_000_000_000);
    while !ear.0 && clock.now() < last {
        net.wait(clock.now(), last)?;
        net.deliver(&mut ear);
    }
    let mut heard = [std::mem::MaybeUninit::uninit(); 2];
    Ok(ear.0 && theirs.recv(&mut heard).is_ok_and(|count| count == 1))
}
