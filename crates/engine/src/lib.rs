//! The engine: one Plan in, one Measurement out.

pub mod plan;
