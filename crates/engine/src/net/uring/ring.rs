//! The ring itself: set up for one thread, entered once a batch, with the deadline as an argument.
//!
//! Absent from it: what is asked of the kernel, and what an answer means.

use std::io;

use base::Nanos;
use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, squeue};

/// Room for requests. A batch that needs more is handed over in parts.
const REQUESTS: u32 = 1024;
/// The most room for answers the kernel gives; what finds none is kept back until it is asked for.
const MOST_ANSWERS: u32 = 65_536;

/// A ring, used by the thread that made it alone.
pub(in crate::net) struct Ring {
    uring: IoUring,
    /// How the kernel knows a deadline: absolute by the monotonic clock, or as a length.
    absolute: bool,
    /// Flags of each wait.
    waits: EnterFlags,
    /// Whether the kernel tells without being entered that there is work.
    tells: bool,
}

impl Ring {
    /// A ring for so many connections; `spins` when it will be looked at without being entered.
    pub fn new(links: u32, spins: bool) -> io::Result<Ring> {
        let answers = links.saturating_mul(4).clamp(4 * REQUESTS, MOST_ANSWERS);
        let mut builder = IoUring::builder();
        builder
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(answers.next_power_of_two())
            .dontfork();
        if spins {
            builder.setup_taskrun_flag();
        }
        let uring = builder.build(REQUESTS)?;
        let features = uring.params();
        if !features.is_feature_ext_arg() || !features.is_feature_nodrop() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut waits = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        // Waiting for the network is idleness, and no pressure on the machine's disks.
        waits.set(EnterFlags::NO_IOWAIT, features.is_feature_no_iowait());
        // Linux 6.12 brought both, and names only one of them.
        let absolute = features.is_feature_min_timeout();
        waits.set(EnterFlags::ABS_TIMER, absolute);
        Ok(Ring { uring, absolute, waits, tells: spins })
    }

    /// Lets the kernel know that waiting is for a disk, which keeps it from deep sleep.
    pub fn waits_for_disks(&mut self) {
        self.waits.remove(EnterFlags::NO_IOWAIT);
    }

    /// Whether it can wait for several answers or a short time.
    pub fn coalesces(&self) -> bool {
        self.uring.params().is_feature_min_timeout()
    }

    /// Puts a request into the queue; false when that is full.
    ///
    /// # Safety
    /// What the request points to must live until the kernel is done with it.
    pub unsafe fn push(&mut self, request: &squeue::Entry) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.uring.submission().push(request) }.is_ok()
    }

    /// Hands over what is in the queue, without looking at what is done.
    pub fn submit(&mut self) -> io::Result<()> {
        self.enter_with(EnterFlags::empty())
    }

    /// Hands over what is in the queue, and takes in what is done, without waiting.
    pub fn enter(&mut self) -> io::Result<()> {
        self.enter_with(EnterFlags::GETEVENTS)
    }

    fn enter_with(&mut self, flags: EnterFlags) -> io::Result<()> {
        let requests = self.uring.submission().len() as u32;
        let flags = flags.bits();
        // SAFETY: without an argument there is nothing for the kernel to misread.
        let entered =
            unsafe { self.uring.submitter().enter::<libc::sigset_t>(requests, 0, flags, None) };
        tolerate(entered)
    }

    /// Hands over what is in the queue and waits: until there are `answers`, or a single one once
    /// the `window` has passed, or the deadline, which is an instant of the monotonic clock and,
    /// for kernels that know lengths only, so far away.
    pub fn wait(
        &mut self,
        answers: u32,
        window: Nanos,
        deadline_monotonic_ns: i64,
        left: Nanos,
    ) -> io::Result<()> {
        let until = if self.absolute { deadline_monotonic_ns.max(0) as u64 } else { left.0 };
        let time = Timespec::new().sec(until / 1_000_000_000).nsec((until % 1_000_000_000) as u32);
        let window_us = u32::try_from(window.0 / 1000).unwrap_or(u32::MAX);
        let args = SubmitArgs::new().timespec(&time).min_wait_usec(window_us);
        let requests = self.uring.submission().len() as u32;
        let flags = self.waits.bits();
        // SAFETY: EXT_ARG goes with an argument of this type, which lives until the call is over.
        let entered =
            unsafe { self.uring.submitter().enter(requests, answers, flags, Some(&args)) };
        tolerate(entered)
    }

    /// Hands over what is in the queue and waits for an answer, however long that takes: the
    /// kernel then sets no timer for this wait alone, and need not take it back.
    pub fn wait_for_answer(&mut self) -> io::Result<()> {
        let requests = self.uring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: without an argument there is nothing for the kernel to misread.
        let entered =
            unsafe { self.uring.submitter().enter::<libc::sigset_t>(requests, 1, flags, None) };
        tolerate(entered)
    }

    /// Whether entering may bring anything: there are requests to hand over, or work of the
    /// kernel's to be done.
    pub fn wants_to_be_entered(&mut self) -> bool {
        let requests = self.uring.submission();
        !self.tells || !requests.is_empty() || requests.taskrun() || requests.cq_overflow()
    }

    /// Whether there are requests that were not handed over.
    pub fn has_requests(&mut self) -> bool {
        !self.uring.submission().is_empty()
    }

    /// Takes the next answer, also of those the kernel had kept back.
    pub fn next(&mut self) -> io::Result<Option<cqueue::Entry>> {
        loop {
            if let Some(answer) = self.uring.completion().next() {
                return Ok(Some(answer));
            }
            if !self.uring.submission().cq_overflow() {
                return Ok(None);
            }
            self.enter()?;
        }
    }

    /// For registering memory.
    pub fn submitter(&self) -> io_uring::Submitter<'_> {
        self.uring.submitter()
    }
}

impl Drop for Ring {
    /// Calls off all that is under way, so that the kernel touches no memory of ours afterwards.
    fn drop(&mut self) {
        let any = CancelBuilder::any().all();
        let longest = std::time::Duration::from_secs(1).into();
        // There may be nothing; and a ring that is closed calls off the rest by itself.
        let _none_under_way = self.uring.submitter().register_sync_cancel(Some(longest), any);
    }
}

/// What keeps an entry from waiting for as long as it was to, or from handing over all at once, is
/// no error: what is left goes with the next.
fn tolerate(entered: io::Result<usize>) -> io::Result<()> {
    match entered {
        Ok(_) => Ok(()),
        Err(error) => match error.raw_os_error() {
            // The deadline; a signal; answers to be taken in first.
            Some(libc::ETIME | libc::EINTR | libc::EBUSY) => Ok(()),
            _ => Err(error),
        },
    }
}
