//! Memory that the kernel reads and writes.
//!
//! It is asked of the system, which gives a page once it is touched: what is laid in for the worst
//! case then costs nothing. Absent from it: who may touch which part of it when.

use std::io;
use std::ptr::{self, NonNull};

/// Memory that begins with a page.
pub(crate) struct Pages {
    /// Where it begins.
    pub start: NonNull<u8>,
    length: usize,
}

impl Pages {
    /// So many bytes, all of them zero.
    pub fn new(bytes: usize) -> Pages {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
        let kind = kind | libc::MAP_ANONYMOUS;
        // SAFETY: memory that is nobody's yet, wherever the system finds room for it.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
        let given = (start != libc::MAP_FAILED).then(|| NonNull::new(start.cast())).flatten();
        let start = given.unwrap_or_else(|| {
            panic!("no {bytes} bytes of memory: {}", io::Error::last_os_error());
        });
        Pages { start, length: bytes }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// All of it, for an owner that has told nobody where it begins.
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes were given, as zeros, and are this owner's alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

// SAFETY: it is memory that is owned, and no more.
unsafe impl Send for Pages {}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: it was given with this length, and whoever is told of a place in it is bound to
        // be gone before. That memory which was given is taken back cannot fail.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
