//! The null server.
fn main() {}
