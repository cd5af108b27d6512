//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/ending.rs"]
mod ending;
#[path = "../eating/pieces.rs"]
mod pieces;

use std::fmt::Write as _;

use wire::ldap::{
    Asked, Attributes, Error, Message, Messages, Outcome, Request, Said, Texts, codes,
};

use pieces::pieces;

pub type Ending = ending::Ending<Error>;

fn texts(texts: Texts<'_>) -> String {
    texts.map(|text| text.escape_ascii().to_string()).collect::<Vec<_>>().join("|")
}

fn attributes(attributes: Attributes<'_>) -> String {
    let mut line = String::new();
    for (name, values) in attributes {
        write!(line, " [{}: {}]", name.escape_ascii(), texts(values)).unwrap();
    }
    line
}

fn outcome(outcome: Outcome<'_>) -> String {
    let Outcome { code, matched, message, referral } = outcome;
    let mut line = format!("{code} {}", codes::name(code));
    for text in [matched, message] {
        write!(line, " ({})", text.escape_ascii()).unwrap();
    }
    let referral = texts(referral);
    if !referral.is_empty() {
        write!(line, " at {referral}").unwrap();
    }
    line
}

fn reply(message: &[u8]) -> Result<String, Error> {
    let Message { number, said } = Message::read(message)?;
    let said = match said {
        Said::Entry(entry) => {
            format!("entry {}{}", entry.name.escape_ascii(), attributes(entry.attributes))
        }
        Said::Reference(addresses) => format!("reference {}", texts(addresses)),
        Said::Done(end) => format!("done {}", outcome(end)),
        Said::Bound(end) => format!("bound {}", outcome(end)),
        Said::Modified(end) => format!("modified {}", outcome(end)),
        Said::Added(end) => format!("added {}", outcome(end)),
        Said::Deleted(end) => format!("deleted {}", outcome(end)),
        Said::Extended(end, name) => {
            format!("extended {} {}", outcome(end), name.unwrap_or_default().escape_ascii())
        }
        Said::Intermediate => "intermediate".to_owned(),
    };
    Ok(format!("{number} {said}"))
}

fn request(message: &[u8]) -> Result<String, Error> {
    let Request { number, asked } = Request::read(message)?;
    let asked = match asked {
        Asked::Bind { name, password } => {
            let password = password.map(|password| password.escape_ascii().to_string());
            format!("bind {} {password:?}", name.escape_ascii())
        }
        Asked::Unbind => "unbind".to_owned(),
        Asked::Search { base, alternatives, attributes } => {
            format!("search {} {alternatives:?} {}", base.escape_ascii(), texts(attributes))
        }
        Asked::Modify { name } => format!("modify {}", name.escape_ascii()),
        Asked::Add { name, attributes: all } => {
            format!("add {}{}", name.escape_ascii(), attributes(all))
        }
        Asked::Delete { name } => format!("delete {}", name.escape_ascii()),
        Asked::Abandon => "abandon".to_owned(),
        Asked::Extended { name } => format!("extended {}", name.escape_ascii()),
        Asked::Other(kind) => format!("other {kind:#04x}"),
    };
    Ok(format!("{number} {asked}"))
}

type Told = (Vec<String>, Ending);

fn eat(bytes: &[u8], cuts: &[usize], told: fn(&[u8]) -> Result<String, Error>) -> Told {
    let (mut messages, mut all) = (Messages::default(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match messages.next(&mut input) {
                Ok(None) => break,
                Ok(Some(message)) => match told(message) {
                    Ok(line) => all.push(line),
                    Err(error) => return (all, Ending::Broken(error)),
                },
                Err(error) => return (all, Ending::Broken(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (all, if messages.is_torn() { Ending::Waiting } else { Ending::Clean })
}

/// Reads what a server says.
pub fn replies(bytes: &[u8], cuts: &[usize]) -> Told {
    eat(bytes, cuts, reply)
}

/// Reads what a client asks.
pub fn requests(bytes: &[u8], cuts: &[usize]) -> Told {
    eat(bytes, cuts, request)
}

/// Eats bytes in all ways and checks that the cutting makes no difference.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    // What is said of a message that is none must not matter either.
    let (_whatever, _else) = (reply(bytes), request(bytes));
    let whole = [bytes.len().max(1)];
    for cuts in [&[1], cuts] {
        assert_eq!(replies(bytes, cuts), replies(bytes, &whole));
        assert_eq!(requests(bytes, cuts), requests(bytes, &whole));
    }
}
