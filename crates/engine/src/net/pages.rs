//! Memory that the kernel reads and writes.
//!
//! Absent from it: who may touch which part of it when.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// The largest page of any machine.
const PAGE: usize = 64 * 1024;

/// Memory that begins with a page.
pub(crate) struct Pages {
    /// Where it begins.
    pub start: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    /// So many bytes at least, all of them zero.
    pub fn new(bytes: usize) -> Pages {
        let layout = Layout::from_size_align(bytes.next_multiple_of(PAGE), PAGE)
            .expect("what fits into memory is a valid layout");
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Pages { start, layout }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.layout.size()
    }

    /// All of it, for an owner that has told nobody where it begins.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were allocated, as zeros, and are this owner's alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.layout.size()) }
    }
}

// SAFETY: it is memory that is owned, and no more.
unsafe impl Send for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and whoever is given a pointer to it is bound
        // to be gone before.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
