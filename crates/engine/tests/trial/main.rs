//! Whole trials: against the simulator, whose figures are known, and against real sockets.

mod agent;
mod cluster;
mod file;
mod in_process;
mod laboratory;
mod ldap;
mod memcached;
mod misdeeds;
mod mysql;
mod pgbouncer;
mod postgresql;
mod queues;
mod real;
mod redis;
mod simulated;
mod tls;
mod web;
