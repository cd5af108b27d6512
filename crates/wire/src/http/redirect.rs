//! The request that follows a redirect (RFC 9110, 15.4; RFC 3986, 5).
//!
//! Absent: redirects to another host, since a connection leads to one.

use std::fmt;

use super::cookies::path;

/// Why a redirect is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Astray {
    /// It does not say where to.
    Nowhere,
    /// It leads to another host, port or scheme.
    Elsewhere,
    /// One redirect leads to the next, too often.
    Endless,
    /// The server closed the connection that would have been followed on.
    Closed,
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Astray::Nowhere => "a redirect without a Location",
            Astray::Elsewhere => "a redirect to another host",
            Astray::Endless => "too many redirects in a row",
            Astray::Closed => "a redirect after which the server closed the connection",
        })
    }
}

impl std::error::Error for Astray {}

/// Whether an answer of this status says where to ask instead.
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The method and the target of a request that was written.
pub fn request_line(request: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = request.iter().position(|&byte| byte == b'\r')?;
    let mut words = request[..end].split(|&byte| byte == b' ');
    Some((words.next()?, words.next()?))
}

/// Appends the request that follows `asked` after an answer of this status and `Location`; nothing
/// when it cannot be followed.
///
/// As browsers do, what was posted is not sent again, unless the status insists (307, 308).
pub fn follow(
    asked: &[u8],
    status: u16,
    location: &[u8],
    secure: bool,
    out: &mut Vec<u8>,
) -> Result<(), Astray> {
    let (method, target) = request_line(asked).ok_or(Astray::Nowhere)?;
    let line = asked.iter().position(|&byte| byte == b'\n').ok_or(Astray::Nowhere)?;
    let rest = &asked[line + 1..];
    let again = match status {
        307 | 308 => true,
        303 => matches!(method, b"GET" | b"HEAD"),
        _ => method != b"POST",
    };
    let start = out.len();
    out.extend_from_slice(if again { method } else { b"GET" });
    out.push(b' ');
    if let Err(astray) = resolve(target, host(rest), secure, location, out) {
        out.truncate(start);
        return Err(astray);
    }
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if again {
        out.extend_from_slice(rest);
        return Ok(());
    }
    for field in fields(rest) {
        let name = field.split(|&byte| byte == b':').next().unwrap_or_default();
        let of_body = name.len() > 7 && name[..8].eq_ignore_ascii_case(b"content-");
        if !of_body && !name.eq_ignore_ascii_case(b"transfer-encoding") {
            out.extend_from_slice(field);
        }
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// The header fields of a head behind its first line, each with its line end.
fn fields(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    rest.split_inclusive(|&byte| byte == b'\n').take_while(|field| *field != b"\r\n")
}

fn host(rest: &[u8]) -> &[u8] {
    let mut fields = fields(rest);
    let host = fields.find(|field| field.len() > 5 && field[..5].eq_ignore_ascii_case(b"host:"));
    host.map(|field| field[5..].trim_ascii()).unwrap_or_default()
}

/// Appends the target that `location` means for whoever asked for `target` at `host`.
fn resolve(
    target: &[u8],
    host: &[u8],
    secure: bool,
    location: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Astray> {
    let end = location.iter().position(|&byte| byte == b'#').unwrap_or(location.len());
    let location = location[..end].trim_ascii();
    let first = location.iter().position(|byte| b"/?:".contains(byte));
    let mut rest = location;
    if let Some(colon) = first.filter(|&at| location[at] == b':') {
        let scheme: &[u8] = if secure { b"https" } else { b"http" };
        if !location[..colon].eq_ignore_ascii_case(scheme) {
            return Err(Astray::Elsewhere);
        }
        rest = &location[colon + 1..];
        if !rest.starts_with(b"//") {
            return Err(Astray::Nowhere);
        }
    }
    if let Some(place) = rest.strip_prefix(b"//") {
        let end = place.iter().position(|byte| b"/?".contains(byte)).unwrap_or(place.len());
        if !bare(&place[..end], secure).eq_ignore_ascii_case(bare(host, secure)) {
            return Err(Astray::Elsewhere);
        }
        rest = &place[end..];
        if !rest.starts_with(b"/") {
            out.push(b'/');
            append(rest, out);
            return Ok(());
        }
    }
    let asked = path(target);
    let (way, query) = rest.split_at(path(rest).len());
    match way {
        // A query alone belongs to the path that was asked for; nothing at all is what was asked.
        [] => append(if query.is_empty() { target } else { asked }, out),
        [b'/', ..] => walk(&[], way, out),
        _ => {
            let folder = asked.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            walk(&asked[..folder], way, out);
        }
    }
    append(query, out);
    Ok(())
}

/// Appends a way from a folder, with `.` and `..` taken as steps (RFC 3986, 5.2.4).
fn walk(folder: &[u8], way: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    append(folder, out);
    let mut steps = way.strip_prefix(b"/").unwrap_or(way).split(|&byte| byte == b'/').peekable();
    while let Some(step) = steps.next() {
        let last = steps.peek().is_none();
        match step {
            b"." | b".." => {
                if step == b".." {
                    let up = out[start..].iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                    out.truncate(start + up);
                }
                if last {
                    out.push(b'/');
                }
            }
            _ => {
                out.push(b'/');
                append(step, out);
            }
        }
    }
}

/// Appends a part of a target; what may not stand in one as it is, is written as `%XX`.
fn append(part: &[u8], out: &mut Vec<u8>) {
    for &byte in part {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            out.push(byte);
        } else {
            let digit = |half: u8| b"0123456789ABCDEF"[usize::from(half)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

/// An authority without the port that goes without saying.
fn bare(authority: &[u8], secure: bool) -> &[u8] {
    let port: &[u8] = if secure { b":443" } else { b":80" };
    authority.strip_suffix(port).unwrap_or(authority)
}
