//! Writing messages, and refusing what would not be read back as it was meant.

use std::fmt;
use std::io::Write as _;

/// Why a message cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The method is not a token.
    Method,
    /// The request target is empty or has a space, a control character or a byte beyond ASCII.
    Target,
    /// A header's name is not a token.
    HeaderName,
    /// A header's value has a line end or a control character.
    HeaderValue,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Invalid::Method => "the HTTP method is not a token",
            Invalid::Target => "the path is empty or has a space, control or non-ASCII character",
            Invalid::HeaderName => "a header's name is not a token",
            Invalid::HeaderValue => "a header's value has a line end or control character",
        })
    }
}

impl std::error::Error for Invalid {}

/// The body of a request, and how its end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// There is none.
    None,
    /// By its length.
    Whole(&'a [u8]),
    /// By a last chunk, after chunks of so many bytes, at least one.
    Chunks(&'a [u8], usize),
}

/// Appends a request with its body to `out`; nothing is appended when it is invalid.
///
/// `Content-Length` or `Transfer-Encoding` is added when there is a body, so they must not be among
/// `headers`.
pub fn encode_request<'a>(
    method: &str,
    target: &[u8],
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    body: Payload<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    let start = out.len();
    let written = head(method, target, headers, out);
    if written.is_err() {
        out.truncate(start);
        return written;
    }
    match body {
        Payload::None => out.extend_from_slice(b"\r\n"),
        Payload::Whole(body) => {
            out.extend_from_slice(b"Content-Length: ");
            decimal(body.len() as u64, out);
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(body);
        }
        Payload::Chunks(body, bytes) => {
            out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(bytes.max(1)) {
                write!(out, "{:x}\r\n", chunk.len()).expect("a vector takes all bytes");
                out.extend_from_slice(chunk);
                out.extend_from_slice(b"\r\n");
            }
            out.extend_from_slice(b"0\r\n\r\n");
        }
    }
    Ok(())
}

fn head<'a>(
    method: &str,
    target: &[u8],
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    if !is_token(method) {
        return Err(Invalid::Method);
    }
    if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err(Invalid::Target);
    }
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    fields(headers, out)
}

fn fields<'a>(
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    for (name, value) in headers {
        if !is_token(name) {
            return Err(Invalid::HeaderName);
        }
        if value.iter().any(|&byte| byte != b'\t' && byte.is_ascii_control()) {
            return Err(Invalid::HeaderValue);
        }
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    Ok(())
}

/// Appends an answer to `out`; nothing is appended when it is invalid.
///
/// `Content-Length` is added, so it must not be among `headers`, except for statuses that have
/// neither body nor length (1xx, 204, 304). `close` adds `Connection: close`.
pub fn encode_response<'a>(
    status: u16,
    headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    body: &[u8],
    close: bool,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    let start = out.len();
    out.extend_from_slice(b"HTTP/1.1 ");
    decimal(u64::from(status), out);
    out.push(b' ');
    out.extend_from_slice(reason_phrase(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    if let Err(invalid) = fields(headers, out) {
        out.truncate(start);
        return Err(invalid);
    }
    if close {
        out.extend_from_slice(b"Connection: close\r\n");
    }
    let bodyless = matches!(status, 100..200 | 204 | 304);
    if !bodyless {
        out.extend_from_slice(b"Content-Length: ");
        decimal(body.len() as u64, out);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    if !bodyless {
        out.extend_from_slice(body);
    }
    Ok(())
}

/// The usual phrase of a status; empty when there is none.
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

fn is_token(text: &str) -> bool {
    let other = b"!#$%&'*+-.^_`|~";
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || other.contains(&byte))
}

fn decimal(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
