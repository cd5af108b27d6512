//! The connections: what is asked of the kernel for each.
//!
//! Absent from it: what its answers mean, which `answers` knows.

mod answers;

use std::io;

use base::clock::Clock;
use base::{Instant, Nanos};
use io_uring::types::Fd;
use io_uring::{cqueue, opcode, squeue};
use socket2::Socket;

use super::ring::Ring;
use super::slot::{Kind, Phase, Slot, cancel};
use super::{Fault, Io, Link, Loss, Source, Target, Waiting};
use crate::net::address::write;

/// From so many bytes on, a system call for a send costs less than a copy, and what is queued waits
/// for room at once.
const LARGE_BYTES: usize = 16 * 1024;

/// So many connections with something to send do not wait for the batch to end: what is counted as
/// sent would else be sent long after, where many answers come at once.
const BATCH: usize = 16;

/// The connections.
pub struct Links {
    ring: Ring,
    clock: Clock,
    targets: Vec<Target>,
    slots: Vec<Slot>,
    /// How many answers end a wait, and how long fewer are left waiting.
    answers: u32,
    window: Nanos,
    /// How many connections are established.
    up: u32,
    /// Connections for which the kernel is to be asked for something.
    listed: Vec<Link>,
    /// Requests to be called off.
    cancels: Vec<u64>,
    /// Connections whose bytes were handed over, until it is known how much was sent.
    sent: Vec<Link>,
    /// Bytes of closed connections from which the kernel may still read.
    orphans: Vec<(u64, Vec<u8>)>,
    /// Why nothing could be handed over, where that could not be told at once.
    failed: Option<io::Error>,
    // News that is to be delivered.
    found: Vec<cqueue::Entry>,
    lost: Vec<Loss>,
    established: Vec<(Link, u32)>,
}

impl Links {
    pub(super) fn new(
        clock: Clock,
        targets: Vec<Target>,
        ring: Ring,
        links: u32,
        waiting: Waiting,
    ) -> Links {
        let (answers, window) = match waiting {
            Waiting::Coalesce { answers, window } => (answers, window),
            _ => (1, Nanos(0)),
        };
        let room = 2 * links as usize;
        Links {
            ring,
            clock,
            targets,
            slots: (0..links).map(|_| Slot::default()).collect(),
            answers,
            window,
            up: 0,
            listed: Vec::with_capacity(room),
            cancels: Vec::with_capacity(room),
            sent: Vec::with_capacity(room),
            orphans: Vec::new(),
            failed: None,
            found: Vec::with_capacity(room),
            lost: Vec::with_capacity(room),
            established: Vec::with_capacity(room),
        }
    }

    /// Takes over a socket that is connected already.
    pub(super) fn adopt(&mut self, link: Link, socket: Socket) {
        let slot = &mut self.slots[link as usize];
        slot.socket = Some(socket);
        slot.phase = Phase::Up;
        self.up += 1;
        self.list(link);
    }

    pub(super) fn is_current(&self, link: Link, generation: u32) -> bool {
        self.slots[link as usize].is_current(generation)
    }

    /// Whether there is something to deliver, or to be asked of the kernel before it is waited on.
    pub(super) fn has_news(&self) -> bool {
        !(self.found.is_empty()
            && self.lost.is_empty()
            && self.established.is_empty()
            && self.listed.is_empty())
    }

    /// Exchanges the news for empty lists.
    pub(super) fn take_news(
        &mut self,
        found: &mut Vec<cqueue::Entry>,
        lost: &mut Vec<Loss>,
        established: &mut Vec<(Link, u32)>,
    ) {
        std::mem::swap(&mut self.found, found);
        std::mem::swap(&mut self.lost, lost);
        std::mem::swap(&mut self.established, established);
    }

    fn list(&mut self, link: Link) {
        let slot = &mut self.slots[link as usize];
        if !slot.listed {
            slot.listed = true;
            self.listed.push(link);
        }
    }

    /// Puts all that is to be asked of the kernel into the ring.
    pub(super) fn hand_over(&mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        while let Some(tag) = self.cancels.pop() {
            self.ask(&cancel(tag))?;
        }
        // It may grow meanwhile, where the ring is full and is emptied.
        let mut next = 0;
        while let Some(&link) = self.listed.get(next) {
            next += 1;
            self.slots[link as usize].listed = false;
            self.hand_over_of(link)?;
        }
        self.listed.clear();
        Ok(())
    }

    fn hand_over_of(&mut self, link: Link) -> io::Result<()> {
        let index = link as usize;
        match self.slots[index].phase {
            Phase::Unasked => return self.ask_to_connect(link),
            Phase::Connecting => return Ok(()),
            Phase::Up => {}
        }
        if !self.slots[index].receiving
            && let Some(receive) = self.slots[index].receive(link)
        {
            self.slots[index].receiving = true;
            self.ask(&receive)?;
        }
        let slot = &mut self.slots[index];
        if slot.sending {
            return Ok(());
        }
        if slot.held.is_empty() && slot.out.len() >= LARGE_BYTES {
            std::mem::swap(&mut slot.held, &mut slot.out);
        }
        if !slot.held.is_empty() {
            slot.sending = true;
            let send = slot.long_send(link);
            return send.map_or(Ok(()), |send| self.ask(&send));
        }
        if !slot.out.is_empty()
            && let Some(send) = slot.send(link)
        {
            self.sent.push(link);
            self.ask(&send)?;
        }
        Ok(())
    }

    fn ask_to_connect(&mut self, link: Link) -> io::Result<()> {
        let slot = &mut self.slots[link as usize];
        let Some(socket) = &slot.socket else { return Ok(()) };
        slot.phase = Phase::Connecting;
        let fd = Fd(std::os::fd::AsRawFd::as_raw_fd(socket));
        let at = &self.targets[slot.target].at;
        let connect = opcode::Connect::new(fd, at.as_ptr().cast(), at.len()).build();
        let connect = connect.user_data(slot.tag(link, Kind::Connect));
        self.ask(&connect)
    }

    /// Puts a request into the ring, which is emptied first when it is full.
    fn ask(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: addresses of targets stay where they are as long as the ring; `out` is left alone
        // until `settle` has seen that the ring is empty and what became of the sends, which do not
        // wait; `held` is left alone, and kept when its connection is closed, until its send ends.
        while !unsafe { self.ring.push(request) } {
            self.ring.enter()?;
            self.take_in()?;
        }
        Ok(())
    }

    /// Hands over what has come together, and leaves for later what has arrived.
    fn submit(&mut self) -> io::Result<()> {
        self.hand_over()?;
        self.ring.submit()?;
        self.settle()
    }

    /// Enters the ring without waiting.
    pub(super) fn enter(&mut self) -> io::Result<()> {
        self.ring.enter()?;
        self.settle()
    }

    /// Takes in what is done after the ring was entered, upon which it is known what was sent.
    fn settle(&mut self) -> io::Result<()> {
        self.take_in()?;
        while self.ring.has_requests() {
            self.ring.enter()?;
            self.take_in()?;
        }
        for link in self.sent.drain(..) {
            self.slots[link as usize].out.clear();
        }
        Ok(())
    }

    fn open(&mut self, link: Link, number: usize) -> io::Result<()> {
        let target = &self.targets[number];
        let socket = target.socket()?;
        let slot = &mut self.slots[link as usize];
        slot.target = number;
        if target.is_tcp() {
            slot.socket = Some(socket);
            self.list(link);
        } else {
            target.connect(&socket)?;
            self.established.push((link, slot.generation));
            self.adopt(link, socket);
        }
        Ok(())
    }
}

impl Source for Links {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn look(&mut self) -> io::Result<bool> {
        if self.ring.wants_to_be_entered() {
            self.enter()?;
        } else {
            std::hint::spin_loop();
        }
        Ok(self.has_news())
    }

    fn sleep(&mut self, now: Instant, deadline: Instant) -> io::Result<()> {
        let left = deadline.since(now);
        let until = self.clock.origin_monotonic_ns + deadline.0;
        // More than there are connections cannot be waited for.
        let answers = self.answers.clamp(1, self.up.max(1));
        self.ring.wait(answers, self.window.min(left), until, left)?;
        self.settle()
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
        let Some(socket) = &slot.socket else { return };
        if bytes.len() < LARGE_BYTES || !slot.is_clear() {
            slot.out.extend_from_slice(bytes);
            self.list(link);
            if self.listed.len() >= BATCH {
                self.failed = self.submit().err();
            }
            return;
        }
        match write(socket, bytes) {
            Ok(sent) if sent == bytes.len() => {}
            Ok(sent) => {
                slot.held.extend_from_slice(&bytes[sent..]);
                self.list(link);
            }
            Err(error) => {
                let generation = slot.generation;
                self.lost.push((link, generation, Fault::of(&error)));
            }
        }
    }

    fn close(&mut self, link: Link) {
        let slot = &mut self.slots[link as usize];
        // What the kernel is at holds on to the socket until it is called off.
        match slot.phase {
            Phase::Connecting => self.cancels.push(slot.tag(link, Kind::Connect)),
            Phase::Up => self.up -= 1,
            Phase::Unasked => {}
        }
        if slot.receiving {
            self.cancels.push(slot.tag(link, Kind::Receive));
        }
        if slot.sending {
            let tag = slot.tag(link, Kind::LongSend);
            self.cancels.push(tag);
            self.orphans.push((tag, std::mem::take(&mut slot.held)));
        }
        drop(slot.forget());
    }
}
