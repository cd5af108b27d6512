//! Whole trials: against the simulator, whose figures are known, and against real sockets.

mod agent;
mod file;
mod in_process;
mod laboratory;
mod memcached;
mod misdeeds;
mod postgresql;
mod queues;
mod real;
mod redis;
mod simulated;
mod tls;
mod web;
