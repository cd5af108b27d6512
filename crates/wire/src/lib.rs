//! Sans-IO protocol codecs: bytes in, bytes out, for the client's and the server's side.
//!
//! They are here so that one implementation serves the load generator, the null server and the
//! simulator, and can be tested without a network. Absent from it: sockets, clocks, threads,
//! random numbers, and any judgement of what an answer should have been. Nothing here panics,
//! whatever the input.

pub mod frames;
pub mod http;
pub mod ldap;
pub mod memcached;
pub mod mysql;
pub mod postgresql;
pub mod redis;
