//! The committed corpus of a fuzz target, eaten again by the ordinary tests.

use std::path::Path;

/// Gives each file of the target's corpus to `any`, with the pieces to cut it into.
///
/// # Panics
///
/// When the corpus is not there, or has lost most of its files.
pub fn eaten(target: &str, any: impl Fn(&[u8], &[usize])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        any(&std::fs::read(entry.unwrap().path()).unwrap(), &[3, 5, 2, 11]);
        count += 1;
    }
    assert!(count >= 20, "the corpus has only {count} files");
}
