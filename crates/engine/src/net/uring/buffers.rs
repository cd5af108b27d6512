//! The buffers into which the kernel receives, given to it in a ring of their own.
//!
//! A receive takes one when there are bytes and not before, so that few serve many connections.
//! Absent from it: whose bytes are in which.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::ring::Ring;
use crate::net::pages::Pages;

/// The number by which receives name this ring of buffers.
pub(super) const GROUP: u16 = 0;
/// The memory of all buffers together; a page is really used once something was received into it.
const BYTES: usize = 16 * 1024 * 1024;
/// The least and the greatest size of a buffer.
const SIZES: (usize, usize) = (4 * 1024, 64 * 1024);

/// A ring of buffers.
pub(super) struct Buffers {
    entries: Pages,
    bytes: Pages,
    /// How many there are, a power of two.
    count: u16,
    /// The size of one.
    size: usize,
    /// How many were given in all.
    given: u16,
}

impl Buffers {
    /// Buffers for so many connections, all of them given.
    ///
    /// # Safety
    /// They must outlive the ring.
    pub unsafe fn new(ring: &Ring, links: u32) -> io::Result<Buffers> {
        let count = links.next_power_of_two().clamp(16, 4096) as u16;
        let size = (BYTES / usize::from(count)).clamp(SIZES.0, SIZES.1);
        let entries = Pages::new(usize::from(count) * size_of::<BufRingEntry>());
        let bytes = Pages::new(usize::from(count) * size);
        let at = entries.start.as_ptr() as u64;
        // SAFETY: the pages have room for so many entries, and outlive the ring, as promised.
        unsafe { ring.submitter().register_buf_ring_with_flags(at, count, GROUP, 0)? };
        let mut buffers = Buffers { entries, bytes, count, size, given: 0 };
        for id in 0..count {
            buffers.give(id);
        }
        Ok(buffers)
    }

    /// What was received into a buffer: so many bytes.
    pub fn received(&self, id: u16, length: usize) -> &[u8] {
        assert!(id < self.count && length <= self.size, "no such buffer");
        // SAFETY: that lies within the pages, which began as zeros; the kernel has handed the
        // buffer over and writes into it again only after `give`, which needs it mutably.
        unsafe {
            let start = self.bytes.start.as_ptr().add(usize::from(id) * self.size);
            std::slice::from_raw_parts(start, length)
        }
    }

    /// Gives a buffer to the kernel (again).
    pub fn give(&mut self, id: u16) {
        assert!(id < self.count, "no such buffer");
        let place = usize::from(self.given & (self.count - 1));
        self.given = self.given.wrapping_add(1);
        #[allow(clippy::cast_ptr_alignment, reason = "the pages begin with a page")]
        let entries = self.entries.start.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the place is below the count, for which there is room; zeros are a valid entry.
        // The kernel reads it only after the new tail is published. The tail lies within the first
        // entry, in a field that setting an entry leaves alone, aligned to two bytes.
        unsafe {
            let entry = &mut *entries.add(place);
            entry.set_addr(self.bytes.start.as_ptr().add(usize::from(id) * self.size) as u64);
            entry.set_len(self.size as u32);
            entry.set_bid(id);
            let tail = BufRingEntry::tail(entries).cast_mut();
            AtomicU16::from_ptr(tail).store(self.given, Ordering::Release);
        }
    }
}
