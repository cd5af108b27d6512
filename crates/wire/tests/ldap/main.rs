//! The LDAP readers and writers against one table of cases, another's codec, properties and the
//! fuzz corpus.

mod asking;
mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;

use eat::Ending;
use ldap3_proto::LdapCodec;
use proptest::prelude::*;
use tokio_util::codec::Decoder;
use wire::ldap::{Asked, MAX_DEPTH, Messages, Request, Texts, codes, say};

#[test]
fn what_a_server_says_is_read_whole_and_in_pieces() {
    for case in cases::REPLIES {
        for cuts in [[usize::MAX], [1], [7]] {
            let (told, ending) = eat::replies(&case.bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn what_a_client_asks_is_read_whole_and_in_pieces() {
    for case in cases::REQUESTS {
        for cuts in [[usize::MAX], [1], [7]] {
            let (told, ending) = eat::requests(&case.bytes(), &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn a_message_leaves_the_bytes_behind_it() {
    let one = |case: &&cases::Case| case.ending == Ending::Clean && case.told.len() == 1;
    for case in cases::REPLIES.iter().chain(cases::REQUESTS).filter(one) {
        let whole = case.bytes();
        let bytes = [whole.as_slice(), b"SURPLUS"].concat();
        let (mut input, mut messages) = (bytes.as_slice(), Messages::default());
        assert_eq!(messages.next(&mut input), Ok(Some(whole.as_slice())), "{}", case.name);
        assert_eq!(input, b"SURPLUS", "{}", case.name);
    }
}

#[test]
fn a_message_that_is_read_is_one_for_another_codec_too() {
    // It has no names for codes and operations beyond its own list, and reads no open filter.
    let beyond = ["a code that has no name", "something in between", "a search for several"];
    for case in cases::REPLIES.iter().chain(cases::REQUESTS) {
        let of_others = beyond.contains(&case.name) || case.name == "a comparison";
        if case.ending != Ending::Clean || of_others {
            continue;
        }
        let mut bytes = bytes::BytesMut::from(case.bytes().as_slice());
        for told in case.told {
            let message = LdapCodec::default().decode(&mut bytes).unwrap();
            let number = message.expect(case.name).msgid.to_string();
            assert_eq!(Some(number.as_str()), told.split(' ').next(), "{}", case.name);
        }
        assert!(bytes.is_empty(), "{}", case.name);
    }
}

#[test]
fn filters_deeper_than_sensible_are_refused() {
    let search = |depth: usize| {
        let mut filter = vec![0x87, 1, b'c'];
        for _ in 0..depth {
            filter.splice(0..0, [0xa2, filter.len() as u8]);
        }
        let head = b"\x04\x00\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00";
        let search = [&head[..], &filter, b"\x30\x00"].concat();
        let mut message = b"\x02\x01\x02\x63".to_vec();
        message.push(search.len() as u8);
        message.extend(search);
        message.splice(0..0, [0x30, message.len() as u8]);
        message
    };
    assert_eq!(eat::requests(&search(MAX_DEPTH - 1), &[1000]).1, Ending::Clean);
    let Ending::Broken(_) = eat::requests(&search(MAX_DEPTH), &[1000]).1 else {
        panic!("{MAX_DEPTH} levels and one were read");
    };
}

#[test]
fn what_the_server_writes_the_client_reads() {
    let mut out = Vec::new();
    let attributes: [(&[u8], &[&[u8]]); 2] = [(b"uid", &[b"1"]), (b"v", &[b"a", &[b'x'; 200]])];
    say::entry(300, b"uid=1,o=x", attributes, &mut out);
    say::reference(300, &[b"ldap://a", b"ldap://b"], &mut out);
    let asked = [
        Asked::Bind { name: b"", password: None },
        Asked::Search { base: b"", alternatives: None, attributes: Texts::default() },
        Asked::Modify { name: b"" },
        Asked::Delete { name: b"" },
        Asked::Extended { name: b"" },
    ];
    for asked in &asked {
        say::outcome(asked.answered_by().unwrap(), 7, codes::BUSY, "later", &mut out);
    }
    for unanswered in [Asked::Unbind, Asked::Abandon] {
        assert_eq!(unanswered.answered_by(), None);
    }
    say::disconnection(52, "bye", &mut out);
    let long = format!("300 entry uid=1,o=x [uid: 1] [v: a|{}]", "x".repeat(200));
    let expected = [
        long.as_str(),
        "300 reference ldap://a|ldap://b",
        "7 bound 51 busy () (later)",
        "7 done 51 busy () (later)",
        "7 modified 51 busy () (later)",
        "7 deleted 51 busy () (later)",
        "7 extended 51 busy () (later) ",
        "0 extended 52 unavailable () (bye) 1.3.6.1.4.1.1466.20036",
    ];
    assert_eq!(eat::replies(&out, &[5]), (expected.map(str::to_owned).to_vec(), Ending::Clean));
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("ldap_messages", eat::any);
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
        case in 0..cases::REPLIES.len() + cases::REQUESTS.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut bytes = cases::REPLIES.iter().chain(cases::REQUESTS).nth(case).unwrap().bytes();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }
}

/// The request that the bytes are, as the server's side reads it.
fn told(bytes: &[u8]) -> Request<'_> {
    Request::read(bytes).unwrap()
}
