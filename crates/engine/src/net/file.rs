//! A file through `io_uring`, in the guise of a network: what is sent to it are orders, what
//! arrives are their answers.
//!
//! A connection has one order under way at a time; one that was given up, having taken too long,
//! is waited for before its connection may be made again, so that the disk never has more orders
//! than the Plan wants. Buffers are as many as connections and one more, which is the one whose
//! answer is being handed over. Absent from it: what orders say ([`crate::file`]), and threads,
//! which serve where there is no `io_uring`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use base::clock::Clock;
use base::{Instant, Nanos};
use io_uring::types::{Fd, FsyncFlags, TimeoutFlags, Timespec};
use io_uring::{opcode, squeue};

use super::pages::Pages;
use super::uring::ring::Ring;
use super::uring::why_not;
use super::waiting::{Source, Waiter, Waiting};
use super::{Event, Handler, Io, Link, Net};
use crate::file::{ANSWER_BYTES, Order, Verb, answer};
use crate::process;

/// To what buffers are aligned, as direct reads and writes want it.
pub(crate) const ALIGNMENT: usize = 4096;
/// What share of the orders that may be under way is handed over together: a disk whose next order
/// waits for many others has too little to do meanwhile, and one of many orders is hardly missed.
const BATCHES: u32 = 16;
/// The most orders that wait for each other: what is counted as sent would else be sent long after.
const MOST: u32 = 16;
/// A deadline that is so far away is left to an alarm, which is set once for many waits.
const FAR: Nanos = Nanos(5_000_000);
/// What the kernel calls the alarm, and its being set anew; orders are called by their connection.
const ALARM: u64 = u64::MAX;
const ALARM_SET: u64 = u64::MAX - 1;
/// How long a ring that goes away waits for orders under way.
const LAST_WAIT: Nanos = Nanos(1_000_000_000);

/// The provider; made by the thread that uses it.
pub struct Disk<'a> {
    orders: Orders<'a>,
    waiter: Waiter,
    // What is handed over at the moment.
    found: Vec<(Link, i32)>,
    established: Vec<Link>,
}

/// The orders under way.
pub struct Orders<'a> {
    ring: Ring,
    buffers: Buffers,
    file: &'a File,
    /// Whether the ring knows the buffers, and the file, as its number 0.
    fixed_buffers: bool,
    fixed_file: bool,
    clock: Clock,
    slots: Vec<Slot>,
    /// How many answers end a wait, and how long fewer are left waiting.
    answers: u32,
    window: Nanos,
    /// When the alarm goes off, if it is set, and as the kernel reads it.
    alarm: Option<Instant>,
    alarm_time: Box<Timespec>,
    /// Orders that the kernel has or is about to be given, and those it is about to be given.
    under_way: u32,
    unsubmitted: u32,
    /// How many are handed over together.
    batch: u32,
    /// Why nothing could be handed over, where that could not be told at once.
    failed: Option<io::Error>,
    // News that is to be delivered.
    found: Vec<(Link, i32)>,
    established: Vec<Link>,
}

/// A connection.
#[derive(Clone, Copy, Default)]
struct Slot {
    open: bool,
    /// Whether it is to be open once the order that was given up is done.
    awaited: bool,
    /// The order under way: what it is to do, and its buffer.
    order: Option<(Verb, usize)>,
}

impl<'a> Disk<'a> {
    /// A provider of so many connections to a file, for blocks of at most so many bytes.
    pub fn new(
        clock: Clock,
        file: &'a File,
        links: u32,
        largest: u32,
        waiting: Waiting,
    ) -> io::Result<Disk<'a>> {
        process::wake_punctually();
        let mut ring = Ring::new(links, waiting.spins())?;
        ring.waits_for_disks();
        let (answers, window) = match waiting {
            Waiting::Coalesce { .. } if !ring.coalesces() => {
                return Err(io::ErrorKind::Unsupported.into());
            }
            Waiting::Coalesce { answers, window } => (answers, window),
            _ => (1, Nanos(0)),
        };
        let room = links as usize;
        let buffers = Buffers::new(room + 1, largest as usize);
        // What the kernel knows beforehand it need not look up and pin for each order. Where it
        // will not, for want of memory that may be locked, orders cost more and are the same.
        // SAFETY: the buffers go away after the ring.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&[buffers.all()]) }.is_ok();
        let fixed_file = ring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        let orders = Orders {
            ring,
            buffers,
            file,
            fixed_buffers,
            fixed_file,
            clock,
            slots: vec![Slot::default(); room],
            answers,
            window,
            alarm: None,
            alarm_time: Box::new(Timespec::new()),
            under_way: 0,
            unsubmitted: 0,
            batch: (links / BATCHES).clamp(1, MOST),
            failed: None,
            found: Vec::with_capacity(room),
            established: Vec::with_capacity(room),
        };
        Ok(Disk {
            orders,
            waiter: Waiter::new(waiting),
            found: Vec::with_capacity(room),
            established: Vec::with_capacity(room),
        })
    }
}

/// Tries whether the provider can be had; says why not.
pub fn probe(waiting: Waiting) -> Result<(), String> {
    let ring = Ring::new(1, waiting.spins()).map_err(|error| why_not(&error, waiting))?;
    if matches!(waiting, Waiting::Coalesce { .. }) && !ring.coalesces() {
        return Err(why_not(&io::ErrorKind::Unsupported.into(), waiting));
    }
    Ok(())
}

impl<'a> Net for Disk<'a> {
    type Io = Orders<'a>;

    fn io(&mut self) -> &mut Orders<'a> {
        &mut self.orders
    }

    fn wait(&mut self, now: Instant, deadline: Instant) -> io::Result<Instant> {
        if let Some(error) = self.orders.failed.take() {
            return Err(error);
        }
        if self.orders.has_news() || now >= deadline {
            self.orders.enter()?;
            return Ok(now);
        }
        self.waiter.wait(&mut self.orders, now, deadline)
    }

    fn deliver(&mut self, handler: &mut impl Handler<Orders<'a>>) {
        let Disk { orders, found, established, .. } = self;
        std::mem::swap(&mut orders.found, found);
        std::mem::swap(&mut orders.established, established);
        for link in established.drain(..) {
            if orders.slots[link as usize].open {
                handler.on(orders, Event::Connected(link));
            }
        }
        for (link, result) in found.drain(..) {
            orders.deliver(link, result, handler);
        }
    }
}

impl Orders<'_> {
    fn has_news(&self) -> bool {
        !(self.found.is_empty() && self.established.is_empty())
    }

    /// An order is done.
    fn deliver(&mut self, link: Link, result: i32, handler: &mut impl Handler<Self>) {
        let slot = &mut self.slots[link as usize];
        let Some((verb, buffer)) = slot.order.take() else { return };
        if slot.open {
            let count = if verb == Verb::Read { result.max(0) as usize } else { 0 };
            // SAFETY: the order is done, and until `give` its buffer is nobody else's: whatever
            // the handler orders takes another.
            let bytes = unsafe { self.buffers.answered(buffer, result, count) };
            handler.on(self, Event::Data(link, bytes));
        } else if std::mem::take(&mut slot.awaited) {
            slot.open = true;
            handler.on(self, Event::Connected(link));
        }
        self.buffers.give(buffer);
    }

    /// Hands over what was ordered, and takes in what is done, without waiting.
    fn enter(&mut self) -> io::Result<()> {
        self.unsubmitted = 0;
        self.ring.enter()?;
        self.take_in()
    }

    fn take_in(&mut self) -> io::Result<()> {
        while let Some(answer) = self.ring.next()? {
            match answer.user_data() {
                ALARM => self.alarm = None,
                ALARM_SET => {}
                link => {
                    self.under_way -= 1;
                    self.found.push((link as Link, answer.result()));
                }
            }
        }
        Ok(())
    }

    /// What the kernel is asked to do with a buffer that starts there.
    fn request(&self, order: Order, start: *mut u8) -> squeue::Entry {
        let Order { verb, length, offset } = order;
        let file = Fd(if self.fixed_file { 0 } else { self.file.as_raw_fd() });
        let request = match verb {
            Verb::Read if self.fixed_buffers => {
                opcode::ReadFixed::new(file, start, length, 0).offset(offset).build()
            }
            Verb::Write if self.fixed_buffers => {
                opcode::WriteFixed::new(file, start, length, 0).offset(offset).build()
            }
            Verb::Read => opcode::Read::new(file, start, length).offset(offset).build(),
            Verb::Write => opcode::Write::new(file, start, length).offset(offset).build(),
            Verb::SyncData => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            Verb::SyncAll => opcode::Fsync::new(file).build(),
        };
        if self.fixed_file { request.flags(squeue::Flags::FIXED_FILE) } else { request }
    }

    /// Sees to it that a wait ends at the deadline or before.
    fn set_alarm(&mut self, deadline: Instant) -> io::Result<()> {
        let is_set = match self.alarm {
            Some(at) if at <= deadline => return Ok(()),
            other => other.is_some(),
        };
        let until = (self.clock.origin_monotonic_ns + deadline.0).max(0) as u64;
        *self.alarm_time =
            Timespec::new().sec(until / 1_000_000_000).nsec((until % 1_000_000_000) as u32);
        let (time, absolute) = (&raw const *self.alarm_time, TimeoutFlags::ABS);
        let request = if is_set {
            let update = opcode::TimeoutUpdate::new(ALARM, time).flags(absolute).build();
            update.flags(squeue::Flags::SKIP_SUCCESS).user_data(ALARM_SET)
        } else {
            opcode::Timeout::new(time).flags(absolute).build().user_data(ALARM)
        };
        self.alarm = Some(deadline);
        self.put(&request)
    }

    /// Puts a request into the ring, which is emptied first when it is full.
    fn put(&mut self, request: &squeue::Entry) -> io::Result<()> {
        // SAFETY: a buffer stays where it is and is left alone until its order is done; the ring
        // goes away before the buffers do, which outlive the process where orders do not end. The
        // alarm's time stays where it is, and the kernel reads it as it takes the request.
        while !unsafe { self.ring.push(request) } {
            self.ring.enter()?;
            self.take_in()?;
        }
        Ok(())
    }

    /// Hands an order to the kernel.
    fn ask(&mut self, request: &squeue::Entry) -> io::Result<()> {
        self.put(request)?;
        self.under_way += 1;
        self.unsubmitted += 1;
        if self.unsubmitted >= self.batch {
            self.unsubmitted = 0;
            self.ring.submit()?;
        }
        Ok(())
    }
}

impl Source for Orders<'_> {
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
        if self.answers == 1 && left >= FAR {
            self.unsubmitted = 0;
            self.set_alarm(deadline)?;
            self.ring.wait_for_answer()?;
            return self.take_in();
        }
        let until = self.clock.origin_monotonic_ns + deadline.0;
        // More than there are orders cannot be waited for.
        let answers = self.answers.clamp(1, self.under_way.max(1));
        self.unsubmitted = 0;
        self.ring.wait(answers, self.window.min(left), until, left)?;
        self.take_in()
    }
}

impl Io for Orders<'_> {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn connect(&mut self, link: Link, _target: usize) {
        let slot = &mut self.slots[link as usize];
        if slot.order.is_some() {
            slot.awaited = true;
        } else {
            slot.open = true;
            self.established.push(link);
        }
    }

    fn send(&mut self, link: Link, bytes: &[u8]) {
        let slot = &mut self.slots[link as usize];
        if !slot.open {
            return;
        }
        let (order, payload) = Order::read(bytes).expect("drivers send whole orders");
        assert!(slot.order.is_none(), "a connection has an order at a time");
        let buffer = self.buffers.take();
        slot.order = Some((order.verb, buffer));
        let start = self.buffers.write(buffer, payload, order.length as usize);
        let request = self.request(order, start);
        if let Err(error) = self.ask(&request.user_data(u64::from(link))) {
            self.failed = Some(error);
        }
    }

    fn close(&mut self, link: Link) {
        let slot = &mut self.slots[link as usize];
        slot.open = false;
        slot.awaited = false;
        // What a disk is at cannot be called off: its end is waited for.
    }
}

impl Drop for Orders<'_> {
    /// Waits for what the kernel still reads from or writes to our memory, or leaves that to it.
    fn drop(&mut self) {
        let last = self.clock.now() + LAST_WAIT;
        while self.under_way > 0 {
            let now = self.clock.now();
            if now >= last || self.sleep(now, last).is_err() {
                return self.buffers.abandon();
            }
        }
    }
}

/// Memory for the orders under way.
struct Buffers {
    /// `None` once it is the kernel's for good.
    pages: Option<Pages>,
    /// From one to the next, and how much of that the bytes of a block may take; before them
    /// stands the beginning of the answer.
    stride: usize,
    room: usize,
    free: Vec<usize>,
}

impl Buffers {
    fn new(count: usize, largest: usize) -> Buffers {
        let room = largest.next_multiple_of(ALIGNMENT);
        let stride = ALIGNMENT + room;
        let pages = Some(Pages::new(count * stride));
        Buffers { pages, stride, room, free: (0..count).rev().collect() }
    }

    /// All of the memory, as the kernel is told of it.
    fn all(&self) -> libc::iovec {
        let pages = self.pages.as_ref().expect("only what goes away gives up its memory");
        libc::iovec { iov_base: pages.start.as_ptr().cast(), iov_len: pages.len() }
    }

    fn take(&mut self) -> usize {
        self.free.pop().expect("there is a buffer for each connection and one more")
    }

    fn give(&mut self, buffer: usize) {
        self.free.push(buffer);
    }

    /// Where the bytes of a buffer begin, which has room for so many.
    fn start(&self, buffer: usize, length: usize) -> *mut u8 {
        assert!(length <= self.room, "a block that is greater than any of the Plan");
        let pages = self.pages.as_ref().expect("only what goes away gives up its memory");
        // SAFETY: every buffer that is handed out lies within the pages.
        unsafe { pages.start.as_ptr().add(buffer * self.stride + ALIGNMENT) }
    }

    /// Puts what is to be written into a buffer that was taken; tells where it begins.
    fn write(&mut self, buffer: usize, payload: &[u8], length: usize) -> *mut u8 {
        let start = self.start(buffer, length.max(payload.len()));
        // SAFETY: there is room, as `start` has seen, and a buffer that was taken and not yet
        // ordered is nobody else's.
        unsafe { start.copy_from_nonoverlapping(payload.as_ptr(), payload.len()) };
        start
    }

    /// The answer with the bytes that were read into a buffer.
    ///
    /// # Safety
    /// Its order is done, and the buffer is not given back as long as the bytes are looked at.
    unsafe fn answered<'b>(&mut self, buffer: usize, result: i32, count: usize) -> &'b [u8] {
        let head = answer(i64::from(result));
        let start = self.start(buffer, count);
        // SAFETY: before each buffer's start there is room for more than the beginning of an
        // answer; the pages began as zeros, and nobody else touches them, as promised.
        unsafe {
            let start = start.sub(ANSWER_BYTES);
            start.copy_from_nonoverlapping(head.as_ptr(), ANSWER_BYTES);
            std::slice::from_raw_parts(start, ANSWER_BYTES + count)
        }
    }

    /// Leaves the memory to the kernel.
    fn abandon(&mut self) {
        std::mem::forget(self.pages.take());
    }
}

#[cfg(test)]
mod tests;
