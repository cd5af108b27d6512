//! Finds the whole messages of an Arrow IPC stream or file, without decoding them.
//!
//! It is here because a Measurement may be cut at any byte, and because lengths in a damaged one
//! must not be believed before they are checked. An IPC file is a stream between two magic words,
//! so both are read one way and a file without its end is no special case. Absent: rows.

use std::io::Cursor;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::{FieldNode, Message, MessageHeader, RecordBatch, root_as_message};

use crate::TallyError;
use crate::format::{self, Width};

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The readable part of a stream or file.
pub(crate) struct Frames<'a> {
    /// The schema and every whole batch.
    whole: &'a [u8],
    /// What is wrong with what follows, if anything.
    pub torn: Option<String>,
}

impl<'a> Frames<'a> {
    /// Finds them. An error when not even the schema is whole.
    pub fn find(bytes: &'a [u8]) -> Result<Frames<'a>, TallyError> {
        let is_file = bytes.starts_with(MAGIC);
        let start = if is_file { after_magic(bytes) } else { 0 };
        let mut at = start;
        let mut schema_seen = false;
        let torn = loop {
            match next(&bytes[at..], schema_seen) {
                Ok(Frame::Message(length)) => at += length,
                Ok(Frame::End) if is_file && !bytes.ends_with(MAGIC) => {
                    break Some("the file's footer is missing".to_owned());
                }
                Ok(Frame::End) => break None,
                Err(why) if schema_seen => break Some(format!("{why} at byte {at}")),
                Err(why) => return Err(TallyError::Foreign(format!("{why} at byte {at}"))),
            }
            schema_seen = true;
        };
        let whole = &bytes[start..at];
        if !schema_seen {
            return Err(TallyError::Foreign("it has no schema".to_owned()));
        }
        Ok(Frames { whole, torn })
    }

    /// The whole messages as a stream with an end.
    pub fn stream(&self) -> Vec<u8> {
        [self.whole, &CONTINUATION, &[0; 4]].concat()
    }

    /// A reader of the whole messages.
    pub fn reader(&self) -> Result<StreamReader<Cursor<&'a [u8]>>, TallyError> {
        StreamReader::try_new(Cursor::new(self.whole), None).map_err(damaged)
    }
}

/// An Arrow error as one of ours.
pub(crate) fn damaged(error: impl std::fmt::Display) -> TallyError {
    TallyError::Foreign(error.to_string())
}

/// Where the stream inside a file begins: behind the magic word, which is padded with zeros.
fn after_magic(bytes: &[u8]) -> usize {
    let padding = bytes[MAGIC.len()..].iter().take_while(|&&byte| byte == 0);
    MAGIC.len() + padding.count()
}

enum Frame {
    /// A whole message of this length, its body included.
    Message(usize),
    End,
}

fn next(bytes: &[u8], schema_seen: bool) -> Result<Frame, String> {
    const CUT: &str = "it is cut";
    let head = bytes.get(..8).ok_or(CUT)?;
    let (mark, length) = head.split_at(4);
    if mark != CONTINUATION {
        return Err("no message begins".to_owned());
    }
    let length = i32::from_le_bytes(length.try_into().expect("four bytes"));
    let length = usize::try_from(length).map_err(|_| "a message has a negative length")?;
    if length == 0 {
        return Ok(Frame::End);
    }
    let described = bytes.get(8..8 + length).ok_or(CUT)?;
    let message = root_as_message(described).map_err(|error| format!("damaged: {error}"))?;
    let body = usize::try_from(message.bodyLength()).map_err(|_| "a negative body length")?;
    let whole = (8 + length).checked_add(body).ok_or("an endless body")?;
    if bytes.len() < whole {
        return Err(CUT.to_owned());
    }
    check_kind(&message, schema_seen, body)?;
    Ok(Frame::Message(whole))
}

/// First a schema, then batches; Measurements have nothing else.
fn check_kind(message: &Message, schema_seen: bool, body: usize) -> Result<(), String> {
    match message.header_type() {
        MessageHeader::Schema if !schema_seen => {
            let schema = message.header_as_schema().ok_or("no schema")?;
            let schema = try_fb_to_schema(schema).map_err(|error| error.to_string())?;
            format::check_columns(&schema)
        }
        MessageHeader::RecordBatch if schema_seen => {
            check_batch(&message.header_as_record_batch().ok_or("no batch")?, body)
        }
        other => Err(format!("an unexpected message ({other:?})")),
    }
}

/// Checks that the batch's buffers are as long as its columns need and lie inside its body. The
/// decoder checks what is in them, but takes their sizes on trust.
fn check_batch(batch: &RecordBatch, body: usize) -> Result<(), String> {
    const WRONG: &str = "a batch has buffers that cannot be";
    let rows = usize::try_from(batch.length()).map_err(|_| WRONG)?;
    let nodes = batch.nodes().ok_or(WRONG)?;
    let mut buffers = batch.buffers().ok_or(WRONG)?.iter();
    let widths = format::widths();
    let plain = batch.compression().is_none() && rows <= body && nodes.len() == widths.len();
    let mut holds = |needed: usize, unit: usize, optional: bool| {
        buffers.next().is_some_and(|buffer| {
            let offset = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
            let length = usize::try_from(buffer.length()).unwrap_or(usize::MAX);
            let inside = offset.checked_add(length).is_some_and(|end| end <= body);
            let enough = length >= needed || (optional && length == 0);
            inside && enough && offset % 8 == 0 && length % unit == 0
        })
    };
    let mut sound = |node: &FieldNode, width: Width| {
        let nulls = usize::try_from(node.null_count()).unwrap_or(usize::MAX);
        let counted = node.length() == batch.length() && nulls <= rows;
        let validity = holds(rows.div_ceil(8), 1, nulls == 0);
        let values = match width {
            Width::Fixed => holds(rows * 8, 8, false),
            Width::Varying => holds((rows + 1) * 4, 4, rows == 0) && holds(0, 1, true),
        };
        counted && validity && values
    };
    if plain && nodes.iter().zip(widths).all(|(node, width)| sound(node, width)) {
        Ok(())
    } else {
        Err(WRONG.to_owned())
    }
}
