//! Opening a file for a trial, and all that may stand against it.
//!
//! Absent from it: what is then done with it.

use std::ffi::c_long;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};

use super::SECTOR;
use super::content::is_ours;
use crate::error::HostError;

/// The kind of a file system that is memory and no more, by the kernel's number.
const RAMFS_MAGIC: c_long = 0x8584_58f6;

/// What a trial needs of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Where it is.
    pub path: String,
    /// How much of it is used; all there is when absent.
    pub size_bytes: Option<u64>,
    /// Whether reads and writes go past the system's cache.
    pub direct: bool,
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
    /// The sizes of the blocks that are read or written.
    pub blocks: Vec<u32>,
}

/// An open file.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub file: File,
    /// How much of it is used.
    pub size_bytes: u64,
}

impl Needs {
    /// Opens the file; it is made when it is written and not there.
    pub fn open(&self) -> Result<Opened, HostError> {
        let path = &self.path;
        let unknown = |error: io::Error| self.refused("opened", &error);
        let there = std::fs::metadata(path).ok();
        let is_device = there.as_ref().is_some_and(|there| there.file_type().is_block_device());
        let mut flags = if self.direct { libc::O_DIRECT } else { 0 };
        if is_device && self.writes {
            // A device that is mounted, or a part of something else, is not opened like this.
            flags |= libc::O_EXCL;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(self.writes).custom_flags(flags);
        options.create(self.writes && there.is_none());
        let mut file = options.open(path).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if self.direct => self.not_direct(),
            _ => unknown(error),
        })?;
        let kind = file.metadata().map_err(unknown)?.file_type();
        if kind.is_dir() {
            return Err(HostError::new(format!("`{path}` is a folder"), "name a file"));
        }
        let end = file.seek(SeekFrom::End(0)).map_err(unknown)?;
        if self.direct {
            self.check_direct(&file)?;
        }
        let length = (kind.is_file() || is_device).then_some(end);
        if self.writes && length.is_some_and(|length| length > 0) {
            self.check_owner()?;
        }
        Ok(Opened { size_bytes: self.size(length)?, file })
    }

    /// How much of a file that has this length is used; none is known of other devices.
    fn size(&self, length: Option<u64>) -> Result<u64, HostError> {
        let path = &self.path;
        let size = self.size_bytes.or(length).unwrap_or(0);
        let largest = self.blocks.iter().copied().max().unwrap_or(0);
        let lay_out = "lay it out first, or let `size_bytes` be right";
        if size < u64::from(largest) {
            let what = format!("`{path}` has {size} bytes, and blocks of {largest} are asked for");
            return Err(HostError::new(what, lay_out));
        }
        match length {
            Some(length) if self.reads && length < size => {
                let what = format!("`{path}` has {length} of the {size} bytes that are read");
                Err(HostError::new(what, lay_out))
            }
            _ => Ok(size),
        }
    }

    /// Nothing is written over but what a trial wrote.
    fn check_owner(&self) -> Result<(), HostError> {
        let path = &self.path;
        let mut beginning = [0; SECTOR];
        // By a descriptor of its own, since direct reads want memory that is aligned.
        let read = File::open(path).and_then(|file| file.read_at(&mut beginning, 0));
        let count = read.map_err(|error| self.refused("read", &error))?;
        if is_ours(&beginning[..count]) {
            return Ok(());
        }
        Err(HostError::new(
            format!("`{path}` holds something that is not a trial's, and would be written over"),
            format!("name another, or give it up: dd if=/dev/zero of='{path}' bs=4096 count=1"),
        ))
    }

    fn check_direct(&self, file: &File) -> Result<(), HostError> {
        let path = &self.path;
        if in_memory(file).map_err(|error| self.refused("asked about", &error))? {
            let what = format!("`{path}` lies in memory (tmpfs), where nothing is direct");
            return Err(HostError::new(what, "choose a path on a disk, or `direct: false`"));
        }
        let Some(unit) = direct_unit(file) else { return Ok(()) };
        if unit == 0 {
            return Err(self.not_direct());
        }
        match self.blocks.iter().find(|&block| block % unit != 0) {
            None => Ok(()),
            Some(block) => Err(HostError::new(
                format!("`{path}` is read and written directly by {unit} bytes, not by {block}"),
                format!("let blocks be a multiple of {unit} bytes, or `direct: false`"),
            )),
        }
    }

    fn not_direct(&self) -> HostError {
        HostError::new(
            format!("`{}` cannot be read and written directly: its file system says no", self.path),
            "choose a path on another one, or `direct: false`",
        )
    }

    fn refused(&self, what: &str, error: &io::Error) -> HostError {
        let path = &self.path;
        let means = if self.writes { "reading and writing" } else { "reading" };
        HostError::new(
            format!("`{path}` cannot be {what} for {means}: {error}"),
            "name a file that is there, or may be made, and that this user may use so",
        )
    }
}

/// Whether the file lies on a file system that is memory.
fn in_memory(file: &File) -> io::Result<bool> {
    // SAFETY: all-zero is a valid statfs, and the call fills it.
    let (status, kind) = unsafe {
        let mut system: libc::statfs = std::mem::zeroed();
        let status = libc::fstatfs(file.as_raw_fd(), &raw mut system);
        (status, system.f_type as c_long)
    };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(kind == libc::TMPFS_MAGIC as c_long || kind == RAMFS_MAGIC)
}

/// Of how many bytes direct reads and writes must be a multiple, 0 where there are none; `None`
/// where the kernel, before 6.1, does not tell.
fn direct_unit(file: &File) -> Option<u32> {
    // SAFETY: all-zero is a valid statx, the path is empty text, and the call fills what it says.
    let (status, told) = unsafe {
        let mut told: libc::statx = std::mem::zeroed();
        let status = libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut told,
        );
        (status, told)
    };
    let tells = status == 0 && told.stx_mask & libc::STATX_DIOALIGN != 0;
    tells.then_some(told.stx_dio_offset_align)
}
