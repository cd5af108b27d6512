//! Any bytes, read as what a server says and as what a client asks, cut into any pieces: no panic,
//! and the same meaning whatever the cutting.
#![no_main]

#[path = "../../crates/wire/tests/ldap/eat.rs"]
mod eat;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte says how the rest is cut.
    let cut = bytes.first().map_or(1, |&byte| usize::from(byte).max(1));
    eat::any(bytes, &[cut, 2, 13]);
});
