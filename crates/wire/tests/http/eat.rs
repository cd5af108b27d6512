//! Eats bytes with the readers in slices of given sizes and tells what was understood.

#[path = "../eating/pieces.rs"]
mod pieces;

use wire::http::{Error, Event, Heads, Jar, Kind, RequestEvent, Requests, Responses, follow};

use pieces::pieces;

/// A message as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The status of an answer, 0 for a request.
    pub status: u16,
    pub body: Vec<u8>,
    pub keep: bool,
}

/// How the bytes ended once the connection closed behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Between two messages.
    Clean,
    /// In a message that cannot be completed, or at bytes that are none.
    Broken(Error),
}

/// Reads answers to requests of one kind.
pub fn responses(bytes: &[u8], kind: Kind, cuts: &[usize]) -> (Vec<Message>, Ending) {
    let mut reader = Responses::default();
    let mut heads = Heads::new();
    let mut messages = Vec::new();
    let mut message = Message::default();
    for mut input in pieces(bytes, cuts) {
        loop {
            match reader.next(kind, &mut heads, &mut input) {
                Ok(Event::More) => break,
                Ok(Event::Head(head)) => message.status = head.status,
                Ok(Event::Body(data)) => message.body.extend_from_slice(data),
                Ok(Event::End { keep }) => {
                    message.keep = keep;
                    messages.push(std::mem::take(&mut message));
                }
                Err(error) => return (messages, Ending::Broken(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    match reader.closed() {
        Ok(()) => messages.push(message),
        Err(Error::ClosedBefore) => {}
        Err(error) => return (messages, Ending::Broken(error)),
    }
    (messages, Ending::Clean)
}

/// Reads requests; the ending tells nothing of a request that was cut short.
pub fn requests(bytes: &[u8], cuts: &[usize]) -> (Vec<Message>, Ending) {
    let mut reader = Requests::default();
    let mut messages = Vec::new();
    let mut message = Message::default();
    for mut input in pieces(bytes, cuts) {
        loop {
            match reader.next(&mut input) {
                Ok(RequestEvent::More) => break,
                Ok(RequestEvent::Head(_)) => {}
                Ok(RequestEvent::Body(data)) => message.body.extend_from_slice(data),
                Ok(RequestEvent::End { keep, .. }) => {
                    message.keep = keep;
                    messages.push(std::mem::take(&mut message));
                }
                Err(error) => return (messages, Ending::Broken(error)),
            }
        }
        assert!(input.is_empty(), "a reader that wants more has eaten all it was given");
    }
    (messages, Ending::Clean)
}

/// Eats answers and requests in all ways and checks that the cutting makes no difference.
///
/// An error may be noticed earlier or later in a cut stream, so only that there is one is compared.
pub fn any(bytes: &[u8], cuts: &[usize]) {
    let broken = |ending| matches!(ending, Ending::Broken(_));
    for kind in [Kind::Other, Kind::Head] {
        let (whole, ending) = responses(bytes, kind, &[bytes.len()]);
        for cuts in [&[1], cuts] {
            let (cut, cut_ending) = responses(bytes, kind, cuts);
            assert_eq!(cut, whole);
            assert_eq!(broken(cut_ending), broken(ending));
        }
    }
    let (whole, _) = requests(bytes, &[bytes.len()]);
    for cuts in [&[1], cuts] {
        assert_eq!(requests(bytes, cuts).0, whole);
    }
    written(bytes);
}

/// Takes bytes as a cookie and as where a redirect leads: what is sent then is one request.
fn written(bytes: &[u8]) {
    let asked = b"POST /a/b?c HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx";
    let mut jar = Jar::default();
    jar.take(bytes, b"/a/b?c");
    for status in [302, 307] {
        let mut request = Vec::new();
        if follow(asked, status, bytes, false, &mut request).is_err() {
            assert!(request.is_empty());
            continue;
        }
        let line = 1 + request.iter().position(|&byte| byte == b'\n').unwrap();
        let mut cookies = Vec::new();
        jar.write(b"/a/b?c", false, &mut cookies);
        request.splice(line..line, cookies);
        let (read, ending) = requests(&request, &[request.len()]);
        assert_eq!((read.len(), ending), (1, Ending::Clean));
    }
}
