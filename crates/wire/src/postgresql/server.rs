//! The server's side: it lets everyone in and answers every statement with the same rows.

use std::collections::HashMap;

use super::{Error, Inside, MAX_MESSAGE_BYTES, ask, length, oid};
use crate::frames::{Frames, Length};

/// What every statement is answered with, worked out beforehand.
#[derive(Clone, Debug)]
pub struct Answer {
    columns: Vec<u8>,
    rows: Vec<u8>,
    complete: Vec<u8>,
}

impl Answer {
    /// This many rows of these texts, one a column.
    pub fn new(rows: u32, texts: &[&[u8]]) -> Answer {
        let (mut columns, mut row, mut complete) = (Vec::new(), Vec::new(), Vec::new());
        say(b'T', &mut columns, |out| {
            out.extend_from_slice(&(texts.len() as u16).to_be_bytes());
            for _ in texts {
                out.extend_from_slice(b"column\0\0\0\0\0\0\0");
                out.extend_from_slice(&oid::TEXT.to_be_bytes());
                out.extend_from_slice(&[0xff; 6]);
                out.extend_from_slice(&[0; 2]);
            }
        });
        say(b'D', &mut row, |out| {
            out.extend_from_slice(&(texts.len() as u16).to_be_bytes());
            for text in texts {
                out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                out.extend_from_slice(text);
            }
        });
        say(b'C', &mut complete, |out| {
            out.extend_from_slice(format!("SELECT {rows}\0").as_bytes());
        });
        Answer { columns, rows: row.repeat(rows as usize), complete }
    }

    /// What is said to a statement that was not prepared.
    fn say_all(&self, out: &mut Vec<u8>) {
        for part in [&self.columns, &self.rows, &self.complete] {
            out.extend_from_slice(part);
        }
        ready(out);
    }
}

/// What the server made of what it heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// More must arrive.
    More,
    /// A message of a request that goes on.
    Part,
    /// What is no request, of a log-in or the preparing of a statement, and is now answered.
    Aside,
    /// A request, now answered.
    Request,
    /// The client takes leave.
    Leave,
}

/// One connection.
#[derive(Debug)]
pub struct Server {
    frames: Frames,
    started: bool,
    /// How many parameters each statement has.
    statements: HashMap<Vec<u8>, u16>,
    /// The rows of a COPY so far.
    copying: Option<u64>,
    /// Whether a statement has run since the last Sync.
    ran: bool,
}

impl Default for Server {
    fn default() -> Self {
        let frames = Frames::new(MAX_MESSAGE_BYTES);
        Server { frames, started: false, statements: HashMap::new(), copying: None, ran: false }
    }
}

impl Server {
    /// Takes the next message off the front of `input` and appends what the server says to it.
    pub fn next(
        &mut self,
        answer: &Answer,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Heard, Error> {
        let started = self.started;
        let length = |bytes: &[u8]| if started { length(bytes, is_kind) } else { first(bytes) };
        let Some(message) = self.frames.next(input, length)? else { return Ok(Heard::More) };
        if !started {
            return greet(&mut self.started, &message[4..], out);
        }
        let mut inside = Inside { kind: message[0], bytes: &message[5..] };
        match inside.kind {
            b'Q' if is_copy(inside.bytes) => {
                self.copying = Some(0);
                say(b'G', out, |out| out.extend_from_slice(&[0; 3]));
                return Ok(Heard::Aside);
            }
            b'Q' => {
                answer.say_all(out);
                return Ok(Heard::Request);
            }
            b'P' => {
                let name = inside.text()?;
                let count = parameters(inside.text()?);
                self.statements.insert(name.to_vec(), count);
                say(b'1', out, |_| {});
            }
            b'D' => {
                inside.byte()?;
                let count = self.statements.get(inside.text()?).copied().unwrap_or(0);
                say(b't', out, |out| {
                    out.extend_from_slice(&count.to_be_bytes());
                    for _ in 0..count {
                        out.extend_from_slice(&oid::TEXT.to_be_bytes());
                    }
                });
                out.extend_from_slice(&answer.columns);
            }
            b'B' => say(b'2', out, |_| {}),
            b'C' => say(b'3', out, |_| {}),
            b'E' => {
                self.ran = true;
                out.extend_from_slice(&answer.rows);
                out.extend_from_slice(&answer.complete);
            }
            b'd' => {
                let rows = inside.bytes.split(|&byte| byte == b'\n').count() as u64 - 1;
                self.copying = self.copying.map(|so_far| so_far + rows);
            }
            b'c' => {
                let rows = self.copying.take().unwrap_or(0);
                say(b'C', out, |out| out.extend_from_slice(format!("COPY {rows}\0").as_bytes()));
                ready(out);
                return Ok(Heard::Request);
            }
            b'S' => {
                ready(out);
                let ran = std::mem::take(&mut self.ran);
                return Ok(if ran { Heard::Request } else { Heard::Aside });
            }
            b'X' => return Ok(Heard::Leave),
            b'H' => {}
            other => return Err(Error::Unexpected(other)),
        }
        Ok(Heard::Part)
    }

    /// Appends a refusal of whatever was asked.
    pub fn refuse(code: &str, message: &str, out: &mut Vec<u8>) {
        say(b'E', out, |out| {
            out.extend_from_slice(format!("SERROR\0VERROR\0C{code}\0M{message}\0\0").as_bytes());
        });
        ready(out);
    }
}

/// The first message has no kind, only a length.
fn first(bytes: &[u8]) -> Result<Length, Error> {
    match bytes {
        [a, b, c, d, ..] => match u32::from_be_bytes([*a, *b, *c, *d]) {
            length @ 8..=10_000 => Ok(Length::Whole(length as usize)),
            _ => Err(Error::Length),
        },
        _ => Ok(Length::Unknown),
    }
}

fn greet(started: &mut bool, message: &[u8], out: &mut Vec<u8>) -> Result<Heard, Error> {
    /// A request for GSSAPI's encryption instead of a version, and one to cancel a request.
    const GSS_REQUEST: u32 = 80_877_104;
    const CANCEL_REQUEST: u32 = 80_877_102;
    let mut inside = Inside { kind: b'0', bytes: message };
    match inside.long()? {
        ask::SSL_REQUEST | GSS_REQUEST => out.push(b'N'),
        CANCEL_REQUEST => return Ok(Heard::Leave),
        version if version >> 16 == ask::VERSION >> 16 => {
            *started = true;
            say(b'R', out, |out| out.extend_from_slice(&[0; 4]));
            for setting in [&b"server_version\x0015.0\0"[..], b"client_encoding\0UTF8\0"] {
                say(b'S', out, |out| out.extend_from_slice(setting));
            }
            say(b'K', out, |out| out.extend_from_slice(&[0; 8]));
            ready(out);
        }
        _ => return Err(Error::Malformed(b'0')),
    }
    Ok(Heard::Aside)
}

fn is_kind(kind: u8) -> bool {
    b"BCDEFHPQSXcdfp".contains(&kind)
}

fn is_copy(sql: &[u8]) -> bool {
    let word = |word: &[u8]| sql.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    sql.get(..5).is_some_and(|start| start.eq_ignore_ascii_case(b"copy ")) && word(b"stdin")
}

/// The greatest parameter a statement mentions.
fn parameters(sql: &[u8]) -> u16 {
    let mentioned = sql.split(|&byte| byte == b'$').skip(1).map(|rest| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(5);
        digits.fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0'))
    });
    u16::try_from(mentioned.max().unwrap_or(0)).unwrap_or(u16::MAX)
}

fn ready(out: &mut Vec<u8>) {
    say(b'Z', out, |out| out.push(b'I'));
}

fn say(kind: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(kind);
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
