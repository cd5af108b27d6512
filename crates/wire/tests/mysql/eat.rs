//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/ending.rs"]
mod ending;
#[path = "../eating/pieces.rs"]
mod pieces;

use wire::mysql::{
    Account, Answers, Column, Columns, Error, Event, Kind, Login, Packets, Progress, Question,
    Server, Session, capability,
};

use pieces::pieces;

/// What a client of today, one of `MariaDB`, and one of old agree on with their servers.
pub const TODAY: u64 = capability::PROTOCOL_41 | capability::DEPRECATE_EOF;
pub const CACHING: u64 = TODAY | capability::CACHE_COLUMNS;
pub const OF_OLD: u64 = capability::PROTOCOL_41;

pub type Ending = ending::Ending<Error>;

/// Reads answers of one kind, one after another; rows are told with their values.
pub fn answers(
    bytes: &[u8],
    kind: Kind,
    capabilities: u64,
    cuts: &[usize],
) -> (Vec<String>, Ending) {
    let (mut packets, mut answers, mut told) = (Packets::default(), Answers::default(), vec![]);
    // As they were described when the statement was prepared.
    let mut columns: Columns = vec![Column::INTEGER, Column::TEXT];
    answers.restart(Session { capabilities, ..Session::default() });
    answers.begin(kind, &mut packets);
    let mut ending = Ending::Clean;
    for mut input in pieces(bytes, cuts) {
        loop {
            ending = Ending::Waiting;
            let (line, whole) = match answers.next(&mut columns, &mut packets, &mut input) {
                Err(error) => return (told, Ending::Broken(error)),
                Ok(Event::More) => break,
                Ok(Event::Onward) => continue,
                Ok(Event::Row(row)) => {
                    let values: Vec<_> = row.fields(&columns).collect();
                    (format!("row {values:?}"), false)
                }
                Ok(Event::Done(done)) => (format!("{done:?}"), !done.more_follow()),
                Ok(Event::Refused(refusal)) => (format!("{refusal:?}"), true),
                Ok(Event::Prepared(prepared)) => (format!("{prepared:?}"), true),
            };
            told.push(line);
            if whole {
                ending = Ending::Clean;
                answers.begin(kind, &mut packets);
                if input.is_empty() {
                    break;
                }
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (told, ending)
}

/// A client's log-in with what the server says: what it said itself, and how it went.
pub fn login(bytes: &[u8], password: &str, cuts: &[usize]) -> (Vec<u8>, String) {
    let account = Account {
        user: b"joe".to_vec(),
        password: password.as_bytes().to_vec(),
        database: b"bench".to_vec(),
    };
    let (mut packets, mut login, mut said) =
        (Packets::default(), Login::new(false, false), Vec::new());
    for mut input in pieces(bytes, cuts) {
        while !input.is_empty() {
            match login.next(&account, &mut packets, &mut input, &mut said) {
                Ok(Progress::More) => {}
                Ok(other) => return (said, format!("{other:?}")),
                Err(error) => return (said, format!("{error:?}")),
            }
        }
    }
    (said, "waiting".into())
}

/// Reads what a client says to a server, its log-in first.
pub fn questions(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<Error>) {
    let (mut server, mut told) = (Server::default(), Vec::new());
    server.greet(&mut Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match server.next(&mut input) {
                Ok(None) => break,
                Ok(Some((question, _))) => told.push(match question {
                    Question::Query(sql) => format!("query {}", String::from_utf8_lossy(sql)),
                    Question::Prepare(sql) => format!("prepare {}", String::from_utf8_lossy(sql)),
                    other => format!("{other:?}"),
                }),
                Err(error) => return (told, Some(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (told, None)
}

/// Eats bytes in all ways and checks that the cutting makes no difference.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    let whole = [bytes.len().max(1)];
    for cuts in [&[1], cuts] {
        for kind in [Kind::Text, Kind::Execute, Kind::Prepare] {
            for capabilities in [TODAY, CACHING, OF_OLD] {
                assert_eq!(
                    answers(bytes, kind, capabilities, cuts),
                    answers(bytes, kind, capabilities, &whole)
                );
            }
        }
        assert_eq!(login(bytes, "secret", cuts), login(bytes, "secret", &whole));
        assert_eq!(questions(bytes, cuts), questions(bytes, &whole));
    }
}
