//! The Redis readers and writers against one table of cases, another's codec, properties and the
//! fuzz corpus.

mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;

use eat::Ending;
use proptest::prelude::*;
use wire::redis::{Error, MAX_LINE_BYTES, Messages, cluster, write};

#[test]
fn replies_are_read_whole_and_in_pieces() {
    for case in cases::REPLIES {
        for cuts in [[case.bytes.len().max(1)], [1], [7]] {
            let (told, ending) = eat::replies(case.bytes.as_bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn a_reply_leaves_the_bytes_behind_it() {
    let one = |case: &&cases::Case| case.ending == Ending::Clean && case.told.len() == 1;
    for case in cases::REPLIES.iter().filter(one) {
        let bytes = format!("{}SURPLUS", case.bytes);
        let mut input = bytes.as_bytes();
        let mut messages = Messages::default();
        assert_eq!(messages.next(&mut input), Ok(Some(case.bytes.as_bytes())), "{}", case.name);
        assert_eq!(input, b"SURPLUS", "{}", case.name);
    }
}

#[test]
fn a_reply_ends_where_another_codec_finds_its_end() {
    for case in cases::REPLIES.iter().filter(|case| case.ending == Ending::Clean) {
        // It takes the nulls of RESP 2 for RESP 2 alone, and has no attributes of attributes.
        let of_old = case.bytes.contains("-1\r\n");
        if case.name.contains("of an attribute") || case.name.contains("big number") {
            continue;
        }
        let (mut rest, mut ends) = (case.bytes.as_bytes(), Vec::new());
        while !rest.is_empty() {
            let length = if of_old {
                redis_protocol::resp2::decode::decode(rest).unwrap().unwrap().1
            } else {
                redis_protocol::resp3::decode::complete::decode(rest).unwrap().unwrap().1
            };
            ends.push(length);
            rest = &rest[length..];
        }
        let (mut input, mut found) = (case.bytes.as_bytes(), Vec::new());
        let mut messages = Messages::default();
        while let Some(message) = messages.next(&mut input).unwrap() {
            found.push(message.len());
        }
        assert_eq!(found, ends, "{}", case.name);
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let endless = vec![b'+'; MAX_LINE_BYTES + 2];
    for cuts in [[endless.len()], [1000], [1]] {
        assert_eq!(eat::replies(&endless, &cuts).1, Ending::Broken(Error::TooLong));
        assert_eq!(eat::commands(&endless, &cuts).1, Some(Error::TooLong));
    }
}

#[test]
fn commands_are_read_whole_and_in_pieces() {
    for case in cases::COMMANDS {
        for cuts in [[case.bytes.len().max(1)], [1], [7]] {
            let (told, error) = eat::commands(case.bytes.as_bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(error, case.error, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

/// The values are those that `redis-server` 7.0 gave to `CLUSTER KEYSLOT`.
#[test]
fn keys_lie_in_the_slots_that_servers_say() {
    for (key, slot) in [
        ("", 0),
        ("123456789", 0x31c3),
        ("foo", 12182),
        ("{user1000}.following", 3443),
        ("{user1000}.followers", 3443),
        ("foo{}{bar}", 8363),
        ("foo{{bar}}zap", 4015),
        ("foo{bar}{zap}", 5061),
        ("foo{bar", 15278),
    ] {
        assert_eq!(cluster::slot(key.as_bytes()), slot, "{key}");
    }
}

#[test]
fn what_is_written_on_a_line_stays_on_it() {
    let mut out = Vec::new();
    write::status("a\r\n+b", &mut out);
    write::error("ERR x\ny", &mut out);
    write::integer(-7, &mut out);
    write::map(0, &mut out);
    assert_eq!(out, b"+a+b\r\n-ERR xy\r\n:-7\r\n%0\r\n");
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("redis_messages", eat::any);
}

proptest! {
    #[test]
    fn keys_lie_in_the_slots_that_another_codec_says(
        key in prop::collection::vec(prop::sample::select(b"{}ab\0\xff".to_vec()), 0..12),
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let key = [key, rest].concat();
        prop_assert_eq!(cluster::slot(&key), redis_protocol::redis_keyslot(&key));
    }

    #[test]
    fn any_bytes_are_eaten_alike_in_any_pieces(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn damaged_cases_are_eaten_alike_in_any_pieces(
        case in 0..cases::REPLIES.len(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"*$%|~>+-:_0123456789\r\nx".to_vec()),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut bytes = cases::REPLIES[case].bytes.as_bytes().to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn commands_that_are_written_are_read(
        commands in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..4), 1..4),
        cuts in prop::collection::vec(1usize..100, 1..5),
    ) {
        let mut bytes = Vec::new();
        for command in &commands {
            write::command(command, &mut bytes);
        }
        let escaped = |word: &Vec<u8>| word.escape_ascii().to_string();
        let words = |words: &Vec<Vec<u8>>| {
            words.iter().map(escaped).collect::<Vec<_>>().join(" ")
        };
        let expected: Vec<String> = commands.iter().map(words).collect();
        prop_assert_eq!(eat::commands(&bytes, &cuts), (expected, None));
        // A request has the form of a reply.
        let (told, ending) = eat::replies(&bytes, &cuts);
        prop_assert_eq!((told.len(), ending), (commands.len(), Ending::Clean));
    }
}
