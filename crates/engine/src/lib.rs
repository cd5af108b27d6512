//! The engine: one Plan in, one Measurement out.

pub mod drivers;
pub mod error;
pub mod plan;
pub mod schedule;
pub mod template;
pub mod values;
pub mod workload;
