//! What can be asked of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A positioned read or write of a file, or the wait until what was written is kept.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileRequest {
    /// Reads a block.
    Read(Block),
    /// Writes a block whose sectors say where they belong and which version they are.
    Write(Block),
    /// Waits until what was written before is kept.
    Sync(Sync),
}

/// A stretch of the file: the block of that number, among blocks of that size.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its number from 0, as `${name}` or digits; the transactions of all clients together take one
    /// after the other when absent. Numbers beyond the last go round, so that a sequence goes over
    /// a file again and again.
    #[serde(default)]
    pub at: Option<String>,
    /// Its size, a multiple of 512.
    pub bytes: u32,
}

/// What a sync waits for.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    /// The file's content (`fdatasync`).
    Data,
    /// Its metadata, too (`fsync`).
    All,
}

impl Block {
    /// Whether it is made of whole sectors, and of no more than every client has room for.
    pub(super) fn is_whole(&self) -> bool {
        const LARGEST: u32 = 64 << 20;
        (1..=LARGEST).contains(&self.bytes) && self.bytes.is_multiple_of(512)
    }
}

impl FileRequest {
    /// The block that is read or written.
    pub fn block(&self) -> Option<&Block> {
        match self {
            FileRequest::Read(block) | FileRequest::Write(block) => Some(block),
            FileRequest::Sync(_) => None,
        }
    }

    /// Its name in the Plan.
    pub fn verb(&self) -> &'static str {
        match self {
            FileRequest::Read(_) => "read",
            FileRequest::Write(_) => "write",
            FileRequest::Sync(_) => "sync",
        }
    }
}
