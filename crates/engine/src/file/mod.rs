//! A file as a trial uses it: orders and their answers, what a file holds, and how it is opened.
//!
//! An order is a few bytes that the driver writes and whoever does the reading and writing takes
//! apart, as requests are bytes to a network: so one driver serves `io_uring`, threads and the
//! simulator. Absent from it: who carries orders out, and what is asked when.

mod content;
mod open;
mod order;

use std::fmt;
use std::io;

pub use content::{Content, SECTOR};
pub use open::{Needs, Opened};
pub use order::{ANSWER_BYTES, Order, Verb, answer, result_of};

/// Why an order was not carried out as it should be. None says where, so that errors of a kind are
/// counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The operating system's error.
    Os(i32),
    /// Fewer bytes were moved than were asked for.
    Short {
        /// How many were.
        moved: u64,
        /// How many were to be.
        of: u32,
    },
    /// Nothing was ever written here.
    Blank,
    /// What is here is nothing that was laid out or written by a trial.
    Foreign,
    /// A sector says that it belongs elsewhere.
    Misplaced,
    /// A sector is not what its place and version make it, or was made by another seed.
    Altered,
    /// The answer is none to this order.
    Garbled,
    /// The block's number was drawn as something else.
    Numberless,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Flaw::Os(code) => write!(f, "{}", io::Error::from_raw_os_error(code)),
            Flaw::Short { moved, of } => write!(f, "{moved} of {of} bytes"),
            Flaw::Blank => f.write_str("nothing was ever written there"),
            Flaw::Foreign => f.write_str("what is there was written by no trial"),
            Flaw::Misplaced => f.write_str("a sector stands in another's place"),
            Flaw::Altered => f.write_str("a sector was altered, or written with other seeds"),
            Flaw::Garbled => f.write_str("an answer that does not fit the order"),
            Flaw::Numberless => f.write_str("the number of the block is none"),
        }
    }
}
