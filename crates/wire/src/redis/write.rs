//! Writing messages, of either side, at the end of a buffer.

/// The beginning of an array of so many values, as every command is one.
#[inline]
pub fn array(count: usize, out: &mut Vec<u8>) {
    head(b'*', count, out);
}

/// The beginning of a map of so many pairs; RESP 3.
pub fn map(pairs: usize, out: &mut Vec<u8>) {
    head(b'%', pairs, out);
}

/// A string.
#[inline]
pub fn string(text: &[u8], out: &mut Vec<u8>) {
    head(b'$', text.len(), out);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// A whole number.
pub fn integer(integer: i64, out: &mut Vec<u8>) {
    out.push(b':');
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// A status, such as `OK`; the text stands on one line.
pub fn status(text: &str, out: &mut Vec<u8>) {
    line(b'+', text, out);
}

/// An error, such as `ERR unknown command`; the text stands on one line.
pub fn error(text: &str, out: &mut Vec<u8>) {
    line(b'-', text, out);
}

/// A command of these words.
pub fn command<T: AsRef<[u8]>>(words: &[T], out: &mut Vec<u8>) {
    array(words.len(), out);
    for word in words {
        string(word.as_ref(), out);
    }
}

#[inline]
fn head(kind: u8, count: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(itoa::Buffer::new().format(count).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn line(kind: u8, text: &str, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')));
    out.extend_from_slice(b"\r\n");
}
