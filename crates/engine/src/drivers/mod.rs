//! The client sides of protocols.
//!
//! Absent from it: connections, time, and what is asked when.

pub mod sqlite;
