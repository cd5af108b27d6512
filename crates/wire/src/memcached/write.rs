//! Writing messages, of either side, at the end of a buffer.

use super::{Error, MAX_WORD_BYTES};

/// Looks at a word that was written: one with a space or the end of a line in it would be several,
/// or another request.
#[inline]
pub fn check(word: &[u8]) -> Result<(), Error> {
    let sound = (1..=MAX_WORD_BYTES).contains(&word.len())
        && word.iter().all(|&byte| byte > b' ' && byte != 0x7f);
    if sound { Ok(()) } else { Err(Error::Word) }
}

/// A word of a line that began at `begun`, as `render` writes it.
#[inline]
pub fn word(
    begun: usize,
    out: &mut Vec<u8>,
    render: impl FnOnce(&mut Vec<u8>),
) -> Result<(), Error> {
    if out.len() > begun {
        out.push(b' ');
    }
    let from = out.len();
    render(out);
    check(&out[from..])
}

/// A number, as a word behind others.
#[inline]
pub fn number(number: u64, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The end of a line or a block.
#[inline]
pub fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// A line of these words.
pub fn line(words: &[&[u8]], out: &mut Vec<u8>) {
    for (index, word) in words.iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"" } else { b" " });
        out.extend_from_slice(word);
    }
    end(out);
}

/// What a server has under a key, with the flags that the client gave it and, where that was asked
/// for, the number of its version.
pub fn value(key: &[u8], flags: u32, version: Option<u64>, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"VALUE ");
    out.extend_from_slice(key);
    number(u64::from(flags), out);
    number(value.len() as u64, out);
    if let Some(version) = version {
        number(version, out);
    }
    end(out);
    block(value, out);
}

/// The block that a line announces, with its end.
#[inline]
pub fn block(block: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(block);
    end(out);
}
