//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/ending.rs"]
mod ending;
#[path = "../eating/pieces.rs"]
mod pieces;

use wire::redis::cluster::{Redirect, ranges};
use wire::redis::{Commands, Error, Messages, Reply};

use pieces::pieces;

pub type Ending = ending::Ending<Error>;

/// A reply as a line: its type, number of rows, scalars, and who it says is to be asked.
fn told(reply: Reply<'_>) -> String {
    use std::fmt::Write as _;

    let mut line = format!("{:?} {}:", reply.kind(), reply.rows());
    for (kind, text) in reply.scalars() {
        write!(line, " {kind:?}({})", text.escape_ascii()).unwrap();
    }
    if let Some(error) = reply.error() {
        write!(line, " failed: {}", error.escape_ascii()).unwrap();
        if let Some(Redirect { asking, slot, node }) = Redirect::read(error) {
            let (once, host) = (if asking { " once" } else { "" }, node.host.escape_ascii());
            write!(line, " elsewhere: {slot} at {host} {}{once}", node.port).unwrap();
        }
    }
    for range in ranges(reply) {
        let (first, last, host) = (range.first, range.last, range.node.host.escape_ascii());
        write!(line, " slots: {first} to {last} at {host} {}", range.node.port).unwrap();
    }
    line
}

/// Reads replies.
pub fn replies(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Ending) {
    let (mut messages, mut all) = (Messages::default(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match messages.next(&mut input) {
                Ok(None) => break,
                Ok(Some(message)) => all.push(told(Reply::new(message))),
                Err(error) => return (all, Ending::Broken(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (all, if messages.is_torn() { Ending::Waiting } else { Ending::Clean })
}

/// Reads commands.
pub fn commands(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<Error>) {
    let (mut commands, mut all) = (Commands::default(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match commands.next(&mut input) {
                Ok(None) => break,
                Ok(Some(command)) => {
                    let words = command.arguments().map(|word| word.escape_ascii().to_string());
                    all.push(words.collect::<Vec<_>>().join(" "));
                }
                Err(error) => return (all, Some(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (all, None)
}

/// Eats bytes in all ways and checks that the cutting makes no difference.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    // What is said of a message that is none must not matter either.
    let _whatever = told(Reply::new(bytes));
    let whole = [bytes.len().max(1)];
    for cuts in [&[1], cuts] {
        assert_eq!(replies(bytes, cuts), replies(bytes, &whole));
        assert_eq!(commands(bytes, cuts), commands(bytes, &whole));
    }
}
