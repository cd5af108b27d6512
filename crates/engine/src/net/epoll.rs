//! Readiness through epoll, by way of `mio`.
//!
//! Each connection is registered once, edge-triggered, and a read that came back short is not
//! repeated: at most one receive and one send a request. Deadlines are a timerfd in the poll set,
//! since a poll's own time-out has whole milliseconds. Absent from it: macOS, which has no timerfd.

use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use base::Instant;
use base::clock::Clock;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use socket2::Socket;

use super::address::{Target, write};
use super::waiting::{Source, Waiter, Waiting};
use super::{Address, Event, Fault, Handler, Io, Link, Net};
use crate::process;

const READ_BYTES: usize = 64 * 1024;
const EVENTS: usize = 1024;
const TIMER: Token = Token(usize::MAX);

/// The provider; made by the thread that uses it.
pub struct Epoll {
    links: Links,
    watch: Watch,
    waiter: Waiter,
    buffer: Box<[u8]>,
    /// Connections whose connect or send failed at once, while they are handed over.
    lost: Vec<Loss>,
}

/// The connections.
pub struct Links {
    clock: Clock,
    targets: Vec<Target>,
    registry: Registry,
    slots: Vec<Slot>,
    lost: Vec<Loss>,
}

type Loss = (Link, u32, Fault);

#[derive(Default)]
struct Slot {
    socket: Option<Socket>,
    /// Counts the sockets this connection has had, so that a stale event is recognised.
    generation: u32,
    established: bool,
    /// What the kernel would not take yet.
    unsent: Vec<u8>,
}

impl Epoll {
    /// A provider of `links` connections to `targets`. It cannot wait for several events.
    pub fn new(
        clock: Clock,
        targets: &[Address],
        links: u32,
        waiting: Waiting,
    ) -> io::Result<Epoll> {
        if matches!(waiting, Waiting::Coalesce { .. }) {
            return Err(ErrorKind::Unsupported.into());
        }
        let targets = Target::all(targets)?;
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let timer = Timer::new(clock)?;
        registry.register(&mut SourceFd(&timer.fd.as_raw_fd()), TIMER, Interest::READABLE)?;
        let slots = (0..links).map(|_| Slot::default()).collect();
        let room = || Vec::with_capacity(2 * links as usize);
        Ok(Epoll {
            links: Links { clock, targets, registry, slots, lost: room() },
            watch: Watch { poll, events: Events::with_capacity(EVENTS), timer },
            waiter: Waiter::new(waiting),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            lost: room(),
        })
    }
}

/// What is waited on.
struct Watch {
    poll: Poll,
    events: Events,
    timer: Timer,
}

impl Watch {
    /// Polls once; says whether whoever waits should look.
    fn poll(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        match self.poll.poll(&mut self.events, timeout) {
            Ok(()) => Ok(self.events.iter().any(|event| event.token() != TIMER)),
            // A signal: whoever waits looks at its flag.
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(true),
            Err(error) => Err(error),
        }
    }
}

impl Source for Watch {
    fn now(&self) -> Instant {
        self.timer.clock.now()
    }

    fn look(&mut self) -> io::Result<bool> {
        self.poll(Some(Duration::ZERO))
    }

    fn sleep(&mut self, now: Instant, deadline: Instant) -> io::Result<()> {
        self.timer.arm(now, deadline)?;
        self.poll(None).map(drop)
    }
}

impl Net for Epoll {
    type Io = Links;

    fn io(&mut self) -> &mut Links {
        &mut self.links
    }

    fn wait(&mut self, now: Instant, deadline: Instant) -> io::Result<Instant> {
        if !self.links.lost.is_empty() || now >= deadline {
            self.watch.look()?;
            return Ok(now);
        }
        self.waiter.wait(&mut self.watch, now, deadline)
    }

    fn deliver(&mut self, handler: &mut impl Handler<Links>) {
        std::mem::swap(&mut self.lost, &mut self.links.lost);
        for loss in self.lost.drain(..) {
            self.links.lose(loss, handler);
        }
        for event in &self.watch.events {
            if event.token() != TIMER {
                self.links.ready(event, &mut self.buffer, handler);
            }
        }
        self.watch.events.clear();
    }
}

impl Links {
    fn slot(&mut self, link: Link, generation: u32) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(link as usize)?;
        (slot.generation == generation && slot.socket.is_some()).then_some(slot)
    }

    fn ready(
        &mut self,
        event: &mio::event::Event,
        buffer: &mut [u8],
        handler: &mut impl Handler<Links>,
    ) {
        let (link, generation) = split(event.token());
        let Some(slot) = self.slot(link, generation) else { return };
        let established = slot.established;
        if event.is_writable() || event.is_error() {
            if let Err(error) = slot.progress() {
                return self.lose((link, generation, Fault::of(&error)), handler);
            }
            if !established && slot.established {
                handler.on(self, Event::Connected(link));
            }
        }
        if event.is_readable() || event.is_read_closed() {
            self.read(link, generation, event.is_read_closed(), buffer, handler);
        }
    }

    fn read(
        &mut self,
        link: Link,
        generation: u32,
        ends: bool,
        buffer: &mut [u8],
        handler: &mut impl Handler<Links>,
    ) {
        // The handler may close the connection, so it is looked up again each time.
        while let Some(slot) = self.slot(link, generation)
            && let Some(socket) = &mut slot.socket
        {
            let fault = match socket.read(buffer) {
                Ok(0) => Fault::Closed,
                Ok(count) => {
                    handler.on(self, Event::Data(link, &buffer[..count]));
                    // A short read has emptied the socket; what comes later is a new edge.
                    if count < buffer.len() && !ends {
                        return;
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Fault::of(&error),
            };
            return self.lose((link, generation, fault), handler);
        }
    }

    fn lose(&mut self, (link, generation, fault): Loss, handler: &mut impl Handler<Links>) {
        if self.slots[link as usize].generation == generation {
            self.close(link);
            handler.on(self, Event::Lost(link, fault));
        }
    }

    fn open(&mut self, link: Link, target: usize) -> io::Result<()> {
        let target = &self.targets[target];
        let socket = target.socket()?;
        // Also when it is done at once: the event that it can be written to tells.
        target.connect(&socket)?;
        let slot = &mut self.slots[link as usize];
        let token = join(link, slot.generation);
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.registry.register(&mut SourceFd(&socket.as_raw_fd()), token, interest)?;
        slot.socket = Some(socket);
        Ok(())
    }
}

impl Io for Links {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn connect(&mut self, link: Link, target: usize) {
        if let Err(error) = self.open(link, target) {
            let generation = self.slots[link as usize].generation;
            self.lost.push((link, generation, Fault::of(&error)));
        }
    }

    fn send(&mut self, link: Link, bytes: &[u8]) {
        let slot = &mut self.slots[link as usize];
        if let Err(error) = slot.send(bytes) {
            let fault = Fault::of(&error);
            self.lost.push((link, slot.generation, fault));
        }
    }

    fn close(&mut self, link: Link) {
        // Dropping the socket closes it, which also takes it out of the poll set.
        let slot = &mut self.slots[link as usize];
        slot.socket = None;
        slot.established = false;
        slot.unsent.clear();
        slot.generation = slot.generation.wrapping_add(1);
    }
}

impl Slot {
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let sent = if self.unsent.is_empty() { write(socket, bytes)? } else { 0 };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    /// Finishes connecting and sends what was left over.
    fn progress(&mut self) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if !self.established {
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
            match socket.peer_addr() {
                Ok(_) => self.established = true,
                Err(error) if error.kind() == ErrorKind::NotConnected => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        if !self.unsent.is_empty() {
            let sent = write(socket, &self.unsent)?;
            self.unsent.drain(..sent);
        }
        Ok(())
    }
}

fn join(link: Link, generation: u32) -> Token {
    Token((generation as usize) << 32 | link as usize)
}

fn split(token: Token) -> (Link, u32) {
    (token.0 as u32, (token.0 >> 32) as u32)
}

/// A deadline in the poll set.
struct Timer {
    fd: OwnedFd,
    clock: Clock,
    /// What it was last set to.
    armed: Option<Instant>,
}

impl Timer {
    fn new(clock: Clock) -> io::Result<Timer> {
        process::wake_punctually();
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: the call takes no pointers.
        let raw = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Timer { fd, clock, armed: None })
    }

    /// Sees to it that a wait that begins `now` ends at `deadline` or earlier.
    ///
    /// An earlier deadline that still lies ahead is left in place: ending a wait once too often
    /// costs less than setting the timer for each request. One that has passed is set anew, since
    /// any poll may have taken the one report of its expiry. It is never read: setting it forgets
    /// that it has expired.
    fn arm(&mut self, now: Instant, deadline: Instant) -> io::Result<()> {
        if self.armed.is_some_and(|armed| now < armed && armed <= deadline) {
            return Ok(());
        }
        let at = (self.clock.origin_monotonic_ns + deadline.0).max(1);
        let value = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec { tv_sec: at / 1_000_000_000, tv_nsec: at % 1_000_000_000 },
        };
        // SAFETY: the descriptor is a timerfd and `value` a valid itimerspec.
        let status = unsafe {
            libc::timerfd_settime(
                self.fd.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const value,
                std::ptr::null_mut(),
            )
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        self.armed = Some(deadline);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use base::Nanos;

    use super::*;

    /// A deadline that passes unseen must not keep the next one from ending a wait.
    #[test]
    fn a_wait_ends_though_another_poll_saw_the_timer_expire() {
        for waiting in [Waiting::Sleep, Waiting::SleepThenSpin, Waiting::SpinThenSleep] {
            let (done, ended) = mpsc::channel();
            thread::spawn(move || {
                let clock = Clock { origin_monotonic_ns: base::clock::monotonic_ns() };
                let mut net = Epoll::new(clock, &[], 0, waiting).unwrap();
                let soon = clock.now() + Nanos(200_000);
                net.watch.timer.arm(clock.now(), soon).unwrap();
                while clock.now() <= soon + Nanos(1_000_000) {
                    std::hint::spin_loop();
                }
                let now = clock.now();
                net.wait(now, now).unwrap();
                let now = clock.now();
                let woke = net.wait(now, now + Nanos(2_000_000)).unwrap();
                done.send(woke >= now).unwrap();
            });
            assert_eq!(ended.recv_timeout(Duration::from_secs(20)), Ok(true), "hangs");
        }
    }
}
