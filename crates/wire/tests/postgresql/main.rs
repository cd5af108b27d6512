//! `PostgreSQL`'s readers and writers against one table of cases, another implementation,
//! properties and the fuzz corpus.

mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;
mod oracle;

use eat::Said;
use proptest::prelude::*;
use wire::postgresql::{Answer, Error, Heard, Login, Message, Messages, Progress, Server, ask};

#[test]
fn messages_are_read_whole_and_byte_by_byte() {
    for case in cases::CASES {
        let expected = Said {
            messages: case.messages.iter().map(|&line| line.to_owned()).collect(),
            torn: case.torn,
            error: case.error,
        };
        for cuts in [[case.bytes.len()], [1], [7]] {
            assert_eq!(eat::messages(case.bytes, &cuts), expected, "{} by {cuts:?}", case.name);
        }
    }
}

#[test]
fn a_message_leaves_the_bytes_behind_it() {
    for case in cases::CASES.iter().filter(|case| case.error.is_none() && !case.torn) {
        let bytes = [case.bytes, b"SURPLUS"].concat();
        let (mut input, mut reader) = (&bytes[..], Messages::default());
        for line in case.messages {
            assert!(matches!(reader.next(&mut input), Ok(Some(_))), "{}: {line}", case.name);
        }
        assert_eq!(input, b"SURPLUS", "{}", case.name);
    }
}

/// What a client says that asks a prepared statement with two parameters, and then in one message.
fn asked() -> Vec<u8> {
    let mut out = Vec::new();
    ask::ssl_request(&mut out);
    ask::startup([("user", &b"me"[..])], &mut out).unwrap();
    ask::parse("s1", b"SELECT $1, $2", &mut out).unwrap();
    ask::describe("s1", &mut out).unwrap();
    ask::sync(&mut out);
    let mut bind =
        ask::Bind::new("s1", [wire::postgresql::Format::Text; 2].into_iter(), &mut out).unwrap();
    bind.parameter(|out| out.extend_from_slice(b"one"));
    bind.parameter(|_| {});
    bind.finish(&[]);
    ask::execute(&mut out);
    ask::sync(&mut out);
    ask::query(&mut out, |out| out.extend_from_slice(b"SELECT 1")).unwrap();
    ask::query(&mut out, |out| out.extend_from_slice(b"COPY t FROM STDIN")).unwrap();
    ask::copy_data(&mut out, |out| out.extend_from_slice(b"1\n2\n"));
    ask::copy_done(&mut out);
    ask::terminate(&mut out);
    out
}

#[test]
fn what_a_client_says_is_answered_whole_and_byte_by_byte() {
    let bytes = asked();
    for cuts in [[bytes.len()], [1], [7]] {
        let (heard, out, error) = eat::requests(&bytes, &cuts);
        assert_eq!(error, None);
        let requests = heard.iter().filter(|&&what| what == Heard::Request).count();
        assert_eq!((requests, heard.last()), (3, Some(&Heard::Leave)));
        assert_eq!(out[0], b'N', "TLS is declined");
        let said = eat::messages(&out[1..], &[out.len()]);
        let rows = [r#"row [Some("a"), Some("bc")]"#; 2];
        let expected = [
            &["Authentication(Ok)", "Aside", "Aside", "Aside", "Ready(Idle)"][..],
            &["ParseComplete", "parameters [25, 25]", "columns [25, 25]", "Ready(Idle)"],
            &["BindComplete"],
            &rows,
            &["complete SELECT 2 2", "Ready(Idle)", "columns [25, 25]"],
            &rows,
            &["complete SELECT 2 2", "Ready(Idle)", "CopyIn", "complete COPY 2 2", "Ready(Idle)"],
        ];
        assert_eq!(said.messages, expected.concat());
    }
}

#[test]
fn a_refusal_is_an_error_and_the_next_request_may_come() {
    let mut out = Vec::new();
    Server::refuse("XX000", "no", &mut out);
    let said = eat::messages(&out, &[out.len()]);
    assert_eq!(said.messages, ["error XX000 no fatal=false", "Ready(Idle)"]);
}

#[test]
fn texts_with_a_zero_byte_are_not_written() {
    let out = &mut Vec::new();
    assert_eq!(ask::parse("s", b"SELECT '\0'", out), Err(Error::Zero));
    assert_eq!(ask::query(out, |out| out.push(0)), Err(Error::Zero));
    assert_eq!(ask::startup([("user", &b"a\0b"[..])], out), Err(Error::Zero));
    assert_eq!(ask::password(b"\0", out), Err(Error::Zero));
}

/// Says these messages to a log-in, and gives what it made of the last.
fn log_in(bytes: &[u8], password: Option<&[u8]>) -> (Result<Progress, Error>, Vec<u8>) {
    let (mut login, mut out) = (Login::default(), Vec::new());
    let (mut reader, mut input) = (Messages::default(), bytes);
    let mut last = Ok(Progress::More);
    while let (Ok(_), Some(message)) = (last, reader.next(&mut input).unwrap()) {
        last = login.take(&message, b"me", password, &mut out);
    }
    (last, out)
}

#[test]
fn a_client_is_let_in_as_the_server_wants_it() {
    let ok = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    assert_eq!(log_in(ok, None), (Ok(Progress::Ready), vec![]));
    let plain = [&b"R\0\0\0\x08\0\0\0\x03"[..], ok].concat();
    assert_eq!(log_in(&plain, Some(b"x")), (Ok(Progress::Ready), b"p\0\0\0\x06x\0".to_vec()));
    assert_eq!(log_in(&plain, None).0, Err(Error::NoPassword));
    let md5 = [&b"R\0\0\0\x0c\0\0\0\x05abcd"[..], ok].concat();
    let (progress, said) = log_in(&md5, Some(b"secret"));
    assert_eq!(progress, Ok(Progress::Ready));
    // md5(md5("secret" + "me") + "abcd"), by another tool.
    assert_eq!(said[5..], *b"md5144b723776673e7e3ec447c5b47dd7a5\0");
}

#[test]
fn a_server_that_does_not_prove_itself_is_not_trusted() {
    let scram = b"R\0\0\0\x18\0\0\0\x0aSCRAM-SHA-256\0\0\0";
    let (progress, said) = log_in(scram, Some(b"x"));
    assert_eq!(progress, Ok(Progress::More));
    assert!(said.starts_with(b"p") && said[5..].starts_with(b"SCRAM-SHA-256\0"));
    let let_in = [&scram[..], b"R\0\0\0\x08\0\0\0\0"].concat();
    assert_eq!(log_in(&let_in, Some(b"x")).0, Err(Error::Impostor));
    let forged = [&scram[..], b"R\0\0\0\x1b\0\0\0\x0br=forged,s=YQ==,i=1"].concat();
    assert_eq!(log_in(&forged, Some(b"x")).0, Err(Error::Impostor));
    let unasked = b"R\0\0\0\x08\0\0\0\x0b";
    assert_eq!(log_in(unasked, Some(b"x")).0, Err(Error::Unexpected(b'R')));
    let kerberos = b"R\0\0\0\x08\0\0\0\x02";
    assert_eq!(log_in(kerberos, Some(b"x")).0, Err(Error::Authentication(2)));
    let other = b"R\0\0\0\x0c\0\0\0\x0aX-Y\0";
    assert_eq!(log_in(other, Some(b"x")).0, Err(Error::Authentication(10)));
}

#[test]
fn an_answer_out_of_place_in_a_log_in_is_an_error() {
    assert_eq!(log_in(b"Z\0\0\0\x05I", None).0, Err(Error::OutOfPlace));
    assert_eq!(log_in(b"E\0\0\0\x05\0", None).0, Err(Error::OutOfPlace));
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("postgresql_messages", eat::any);
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
        case in 0..cases::CASES.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut bytes = cases::CASES[case].bytes.to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn what_the_server_says_is_read(
        rows in 0u32..5,
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..4),
    ) {
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let answer = Answer::new(rows, &texts);
        let (mut asked, mut said) = (Vec::new(), Vec::new());
        ask::startup([], &mut asked).unwrap();
        ask::query(&mut asked, |_| {}).unwrap();
        let (mut server, mut input) = (Server::default(), &asked[..]);
        while server.next(&answer, &mut input, &mut said).unwrap() != Heard::More {}
        let (mut reader, mut input, mut found) = (Messages::default(), &said[..], 0);
        while let Some(message) = reader.next(&mut input).unwrap() {
            if let Message::Row(row) = message {
                prop_assert!(row.values().eq(texts.iter().map(|text| Some(*text))));
                found += 1;
            }
        }
        prop_assert_eq!(found, rows);
    }
}
