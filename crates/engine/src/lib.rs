//! The engine: one Plan in, one Measurement out.
//!
//! Absent from it: statistics, and what a figure is good for; the judge knows that.

mod calls;
mod crew;
pub mod drivers;
pub mod error;
pub mod file;
pub mod net;
pub mod plan;
pub mod process;
pub mod responder;
mod run;
pub mod schedule;
pub mod template;
mod tls;
pub mod values;
mod worker;
pub mod workload;

pub use run::{Control, Finished, build, check, run};
