//! The HTTP readers and writers against one table of cases, properties and the fuzz corpus.

mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;
mod manners;

use eat::{Ending, Message};
use proptest::prelude::*;
use wire::http::{
    Event, Heads, Kind, Payload, Responses, encode_request, encode_response, reason_phrase,
};

fn message(status: u16, body: &str, keep: bool) -> Message {
    Message { status, body: body.as_bytes().to_vec(), keep }
}

#[test]
fn answers_are_read_whole_and_byte_by_byte() {
    for case in cases::RESPONSES {
        let expected: Vec<Message> =
            case.answers.iter().map(|&(status, body, keep)| message(status, body, keep)).collect();
        for cuts in [[case.bytes.len()], [1], [7]] {
            let (answers, ending) = eat::responses(case.bytes.as_bytes(), case.kind, &cuts);
            assert_eq!(answers, expected, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn an_answer_leaves_the_bytes_behind_it() {
    let framed = |case: &&cases::Response| {
        case.ending == Ending::Clean && case.answers.len() == 1 && !case.until_close
    };
    for case in cases::RESPONSES.iter().filter(framed) {
        let bytes = format!("{}SURPLUS", case.bytes);
        let mut input = bytes.as_bytes();
        let (mut reader, mut heads) = (Responses::default(), Heads::new());
        while !matches!(reader.next(case.kind, &mut heads, &mut input).unwrap(), Event::End { .. })
        {
        }
        assert_eq!(input, b"SURPLUS", "{}", case.name);
    }
}

#[test]
fn every_beginning_of_an_answer_is_waited_on_and_lost_on_close() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for length in 1..answer.len() {
        let (answers, ending) = eat::responses(&answer[..length], Kind::Other, &[length]);
        assert!(answers.is_empty());
        assert_eq!(ending, Ending::Broken(wire::http::Error::ClosedWithin), "{length} bytes");
    }
}

#[test]
fn requests_are_read_whole_and_byte_by_byte() {
    for case in cases::REQUESTS {
        let expected: Vec<Message> =
            case.requests.iter().map(|&(body, keep)| message(0, body, keep)).collect();
        for cuts in [[case.bytes.len()], [1], [7]] {
            let (requests, ending) = eat::requests(case.bytes.as_bytes(), &cuts);
            assert_eq!(requests, expected, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn a_head_is_searched_for_header_values_in_any_case_of_the_name() {
    let mut input: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n";
    let (mut reader, mut heads) = (Responses::default(), Heads::new());
    let Ok(Event::Head(head)) = reader.next(Kind::Other, &mut heads, &mut input) else {
        panic!("no head");
    };
    assert!(head.has("content-type", b"text/plain"));
    assert!(!head.has("content-type", b"text/html"));
    assert!(!head.has("accept", b"text/plain"));
}

#[test]
fn what_would_be_misread_is_not_written() {
    let none = std::iter::empty::<(&str, &[u8])>;
    let mut out = b"kept".to_vec();
    for target in ["", "/a b", "/a\r\nX: y", "/é"] {
        assert!(encode_request("GET", target.as_bytes(), none(), Payload::None, &mut out).is_err());
    }
    assert!(encode_request("GE T", b"/", none(), Payload::None, &mut out).is_err());
    for (name, value) in [("a b", "v"), ("", "v"), ("a", "v\r\nb: w"), ("a", "\0")] {
        let headers = std::iter::once((name, value.as_bytes()));
        assert!(encode_request("GET", b"/", headers.clone(), Payload::None, &mut out).is_err());
        assert!(encode_response(200, headers, b"", false, &mut out).is_err());
    }
    assert_eq!(out, b"kept");
}

#[test]
fn common_statuses_have_their_phrase() {
    assert_eq!((reason_phrase(200), reason_phrase(404)), ("OK", "Not Found"));
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("http_messages", eat::any);
}

proptest! {
    #[test]
    fn any_bytes_are_eaten_alike_in_any_pieces(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn damaged_cases_are_eaten_alike_in_any_pieces(
        case in 0..cases::RESPONSES.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut bytes = cases::RESPONSES[case].bytes.as_bytes().to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn what_is_written_is_read(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4),
        status in prop::sample::select(vec![200u16, 404, 500, 799]),
        cuts in prop::collection::vec(1usize..100, 1..5),
        chunk_bytes in 1usize..200,
    ) {
        let headers = || [("X-Some", b"thing".as_slice())].into_iter();
        let (mut answers, mut questions, mut chunked) = (Vec::new(), Vec::new(), Vec::new());
        for body in &bodies {
            encode_response(status, headers(), body, false, &mut answers).unwrap();
            let payload = Payload::Whole(body);
            encode_request("POST", b"/x?y=z", headers(), payload, &mut questions).unwrap();
            let payload = Payload::Chunks(body, chunk_bytes);
            encode_request("POST", b"/x?y=z", headers(), payload, &mut chunked).unwrap();
        }
        let (read, ending) = eat::responses(&answers, Kind::Other, &cuts);
        let expected = |status| bodies.iter().map(move |body| Message {
            status, body: body.clone(), keep: true,
        }).collect::<Vec<_>>();
        prop_assert_eq!(read, expected(status));
        prop_assert_eq!(ending, Ending::Clean);
        prop_assert_eq!(eat::requests(&questions, &cuts), (expected(0), Ending::Clean));
        prop_assert_eq!(eat::requests(&chunked, &cuts), (expected(0), Ending::Clean));
    }
}
