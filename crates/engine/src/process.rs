//! What the engine asks of the operating system for its own process: cores, descriptors, signals.
//!
//! Absent from it: other processes.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::HostError;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Pins the calling thread, and the threads it starts from now on, to these cores; to none in
/// particular when the list is empty.
pub fn pin(cpus: &[u32]) -> Result<(), HostError> {
    if cpus.is_empty() {
        return Ok(());
    }
    // SAFETY: an all-zero cpu_set_t is the empty set; it is only written within its size.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus {
        if cpu as usize >= libc::CPU_SETSIZE as usize {
            return Err(no_core(cpus, "there are not so many cores"));
        }
        // SAFETY: the index is below the set's size.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: the set is valid and of the size given; 0 is the calling thread.
    let status = unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &raw const set) };
    if status == 0 { Ok(()) } else { Err(no_core(cpus, &io::Error::last_os_error().to_string())) }
}

fn no_core(cpus: &[u32], why: &str) -> HostError {
    HostError::new(format!("cannot run on cores {cpus:?}: {why}"), "choose among those of `nproc`")
}

/// Sees to it that the process may have this many open files, and as many more as it is allowed:
/// what else is open in it is not known here.
pub fn allow_open_files(needed: u64) -> Result<(), HostError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    if known && limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: as above.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    }
    if known && limit.rlim_max < needed {
        let most = limit.rlim_max;
        return Err(HostError::new(
            format!("{needed} open files are needed and {most} allowed"),
            "raise the limit (`ulimit -Hn`) or use fewer connections",
        ));
    }
    Ok(())
}

/// Notes SIGINT and SIGTERM from now on instead of dying of them.
pub fn note_signals() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler does nothing but store to an atomic, which signals allow.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// The flag that [`note_signals`] sets.
pub fn interrupted() -> &'static AtomicBool {
    &INTERRUPTED
}

/// Lets the calling thread be woken as punctually as the kernel can.
pub fn wake_punctually() {
    // SAFETY: the call takes no pointers; the slack of one nanosecond is this thread's alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// What the process has used so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// Greatest resident set, in bytes; 0 where the machine does not tell.
    pub max_resident_bytes: u64,
}

/// What the process has used so far.
pub fn usage() -> Usage {
    // SAFETY: all-zero is a valid rusage, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        max_resident_bytes: peak_resident_bytes(),
    }
}

/// The greatest resident set since the program began; `ru_maxrss` would count that of the process
/// that started it, too.
fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kibibytes.unwrap_or(0_u64) * 1024
}
