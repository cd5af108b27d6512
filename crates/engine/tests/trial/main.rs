//! Whole trials: against the simulator, whose figures are known, and against real sockets.

mod in_process;
mod laboratory;
mod real;
mod simulated;
