//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/pieces.rs"]
mod pieces;

use wire::postgresql::{Answer, Error, Heard, Message, Messages, Row, Server, affected};

use pieces::pieces;

/// What a server's bytes say, a line a message; whether they end between two; and the error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub messages: Vec<String>,
    pub torn: bool,
    pub error: Option<Error>,
}

/// Reads what a server says.
pub fn messages(bytes: &[u8], cuts: &[usize]) -> Said {
    let (mut reader, mut said) = (Messages::default(), Said::default());
    for mut input in pieces(bytes, cuts) {
        loop {
            match reader.next(&mut input) {
                Ok(Some(message)) => said.messages.push(told(&message)),
                Ok(None) => break,
                Err(error) => {
                    said.error = Some(error);
                    return said;
                }
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    said.torn = reader.is_torn();
    said
}

/// A message in a line.
fn told(message: &Message<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let row = |row: Row<'_>| row.values().map(|value| value.map(text)).collect::<Vec<_>>();
    match message {
        Message::Row(values) => format!("row {:?}", row(*values)),
        Message::Complete(tag) => format!("complete {} {}", text(tag), affected(tag)),
        Message::Parameters(types) => format!("parameters {:?}", types.iter().collect::<Vec<_>>()),
        Message::Columns(columns) => format!("columns {:?}", columns.types().collect::<Vec<_>>()),
        Message::Error(why) => {
            format!("error {} {} fatal={}", text(why.code), text(why.message), why.fatal)
        }
        other => format!("{other:?}"),
    }
}

/// Reads what a client says with the server's side: what it heard and what it says.
pub fn requests(bytes: &[u8], cuts: &[usize]) -> (Vec<Heard>, Vec<u8>, Option<Error>) {
    let answer = Answer::new(2, &[b"a", b"bc"]);
    let (mut server, mut heard, mut out) = (Server::default(), Vec::new(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match server.next(&answer, &mut input, &mut out) {
                Ok(Heard::More) => break,
                Ok(what) => heard.push(what),
                Err(error) => return (heard, out, Some(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (heard, out, None)
}

/// Eats answers and requests in all ways and checks that the cutting makes no difference.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    let whole = messages(bytes, &[bytes.len()]);
    let heard = requests(bytes, &[bytes.len()]);
    for cuts in [&[1], cuts] {
        assert_eq!(messages(bytes, cuts), whole);
        assert_eq!(requests(bytes, cuts), heard);
    }
}
