//! The memcached readers and writers against one table of cases, properties and the fuzz corpus.

mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;

use eat::Ending;
use proptest::prelude::*;
use wire::memcached::{Answers, Error, MAX_LINE_BYTES, MAX_WORD_BYTES, write};

#[test]
fn answers_are_read_whole_and_in_pieces() {
    for case in cases::ANSWERS {
        for cuts in [[case.bytes.len().max(1)], [1], [7]] {
            let (told, ending) = eat::answers(case.bytes.as_bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn an_answer_leaves_the_bytes_behind_it() {
    let one = |case: &&cases::Case| case.ending == Ending::Clean && case.told.len() == 1;
    for case in cases::ANSWERS.iter().filter(one) {
        let bytes = format!("{}SURPLUS", case.bytes);
        let (mut input, mut answers) = (bytes.as_bytes(), Answers::default());
        assert!(answers.next(&mut input).unwrap().is_some(), "{}", case.name);
        assert_eq!(input, b"SURPLUS", "{}", case.name);
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let endless = vec![b'x'; MAX_LINE_BYTES + 2];
    for cuts in [[endless.len()], [1000], [1]] {
        assert_eq!(eat::answers(&endless, &cuts).1, Ending::Broken(Error::TooLong));
        assert_eq!(eat::requests(&endless, &cuts).1, Some(Error::TooLong));
    }
}

#[test]
fn requests_are_read_whole_and_in_pieces() {
    for case in cases::REQUESTS {
        for cuts in [[case.bytes.len().max(1)], [1], [7]] {
            let (told, error) = eat::requests(case.bytes.as_bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(error, case.error, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn a_word_is_one_word() {
    for sound in ["k", "user:1", "\u{e9}", &"k".repeat(MAX_WORD_BYTES)] {
        assert_eq!(write::check(sound.as_bytes()), Ok(()));
    }
    for wrong in ["", "a b", "a\r\nflush_all", "a\0", "\x7f", &"k".repeat(MAX_WORD_BYTES + 1)] {
        assert_eq!(write::check(wrong.as_bytes()), Err(Error::Word));
    }
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("memcached_messages", eat::any);
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
        case in 0..cases::ANSWERS.len() + cases::REQUESTS.len(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"VAESTmsg 0123456789\r\nx".to_vec()),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let asked = || cases::REQUESTS[case - cases::ANSWERS.len()].bytes;
        let whole = cases::ANSWERS.get(case).map_or_else(asked, |case| case.bytes);
        let mut bytes = whole.as_bytes().to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn values_that_are_written_are_read(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4),
        cuts in prop::collection::vec(1usize..100, 1..5),
    ) {
        let (mut answer, mut request) = (Vec::new(), Vec::new());
        for value in &values {
            write::value(b"k", 7, Some(9), value, &mut answer);
            request.extend_from_slice(b"set k 0 0");
            write::number(value.len() as u64, &mut request);
            write::end(&mut request);
            write::block(value, &mut request);
        }
        write::line(&[b"END"], &mut answer);
        write::line(&[b"mg", b"k", b"v"], &mut request);
        let mut told: Vec<String> =
            values.iter().map(|value| format!("1 {}", value.escape_ascii())).collect();
        told.push("0 nothing.".to_owned());
        prop_assert_eq!(eat::answers(&answer, &cuts), (told, Ending::Clean));
        let asked = |value: &Vec<u8>| {
            format!("set k 0 0 {} ={}", value.len(), value.escape_ascii())
        };
        let mut told: Vec<String> = values.iter().map(asked).collect();
        told.push("mg k v".to_owned());
        prop_assert_eq!(eat::requests(&request, &cuts), (told, None));
    }
}
