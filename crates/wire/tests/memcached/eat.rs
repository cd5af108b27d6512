//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/ending.rs"]
mod ending;
#[path = "../eating/pieces.rs"]
mod pieces;

use wire::memcached::{Answer, Answers, Error, Request, Requests};

use pieces::pieces;

pub type Ending = ending::Ending<Error>;

fn answered(answer: Answer<'_>) -> String {
    use std::fmt::Write as _;

    let text = answer.text().map_or("nothing".to_owned(), |text| text.escape_ascii().to_string());
    let mut line = format!("{} {text}", answer.rows());
    if answer.is_last() {
        line.push('.');
    }
    if let Some(error) = answer.error() {
        write!(line, " failed: {}", error.escape_ascii()).unwrap();
    }
    line
}

fn asked(request: Request<'_>) -> String {
    use std::fmt::Write as _;

    let words: Vec<String> = request.words().map(|word| word.escape_ascii().to_string()).collect();
    let mut line = words.join(" ");
    if let Some(value) = request.value {
        write!(line, " ={}", value.escape_ascii()).unwrap();
    }
    if request.is_quiet() {
        line.push_str(" q");
    }
    line
}

/// Reads answers.
pub fn answers(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Ending) {
    let (mut answers, mut all) = (Answers::default(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match answers.next(&mut input) {
                Ok(None) => break,
                Ok(Some(answer)) => all.push(answered(answer)),
                Err(error) => return (all, Ending::Broken(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (all, if answers.is_torn() { Ending::Waiting } else { Ending::Clean })
}

/// Reads requests.
pub fn requests(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<Error>) {
    let (mut requests, mut all) = (Requests::default(), Vec::new());
    for mut input in pieces(bytes, cuts) {
        loop {
            match requests.next(&mut input) {
                Ok(None) => break,
                Ok(Some(request)) => all.push(asked(request)),
                Err(error) => return (all, Some(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (all, None)
}

/// Eats bytes in all ways and checks that the cutting makes no difference.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    let whole = [bytes.len().max(1)];
    for cuts in [&[1], cuts] {
        assert_eq!(answers(bytes, cuts), answers(bytes, &whole));
        assert_eq!(requests(bytes, cuts), requests(bytes, &whole));
    }
}
