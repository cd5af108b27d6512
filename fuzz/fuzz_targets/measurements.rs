//! Any bytes, read as a Measurement and as a histogram: no panic, no memory for lengths that lie.
#![no_main]

#[path = "../../crates/tally/tests/damage/eat.rs"]
mod eat;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| eat::any(bytes));
