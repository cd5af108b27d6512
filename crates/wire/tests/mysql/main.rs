//! The `MySQL` readers and writers against one table of cases, another's codec, properties and the
//! fuzz corpus.

mod cases;
#[path = "../eating/corpus.rs"]
mod corpus;
mod eat;

use cases::framed;
use eat::{CACHING, Ending, OF_OLD, TODAY};
use mysql_common::auth::plugins::{caching_sha2_password, mysql_native_password};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{HandshakePacket, HandshakeResponse};
use proptest::prelude::*;
use wire::mysql::{
    Account, Error, Greeting, Kind, Login, Packets, Parameter, Plugin, Progress, Reply, Served,
    Server, Table, capability, execute, literal, packet, prepare, query, quit,
};

#[test]
fn answers_are_read_whole_and_byte_by_byte() {
    for case in cases::ANSWERS {
        let bytes = case.bytes();
        for cuts in [[bytes.len().max(1)], [1], [7]] {
            let (told, ending) = eat::answers(&bytes, case.kind, case.capabilities, &cuts);
            assert_eq!(told, case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(ending, case.ending, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

#[test]
fn an_answer_leaves_the_bytes_behind_it_to_the_next() {
    for case in cases::ANSWERS.iter().filter(|case| case.ending == Ending::Clean) {
        let bytes = [case.bytes(), framed(9, &[b"\0"])].concat();
        let (told, ending) = eat::answers(&bytes, case.kind, case.capabilities, &[bytes.len()]);
        assert_eq!(told, case.told, "{}", case.name);
        // Numbers begin anew with each answer, so that one nobody asked for is noticed.
        let surplus = Ending::Broken(Error::Sequence { expected: 1, found: 9 });
        assert_eq!(ending, surplus, "{}", case.name);
    }
}

#[test]
fn a_packet_that_is_left_out_is_noticed() {
    let mut bytes = framed(1, &[b"\x02\0"]);
    bytes.extend(framed(3, &[b"\xfe\0\0\x02\0\0\0"]));
    let (_, ending) = eat::answers(&bytes, Kind::Execute, CACHING, &[bytes.len()]);
    assert_eq!(ending, Ending::Broken(Error::Sequence { expected: 2, found: 3 }));
}

#[test]
fn a_login_goes_as_the_server_wants() {
    for case in cases::OPENINGS {
        let mut bytes = Vec::new();
        for (number, payload) in case.payloads {
            bytes.extend(framed(*number, &[payload]));
        }
        for cuts in [[bytes.len()], [1], [7]] {
            let (said, ends) = eat::login(&bytes, "secret", &cuts);
            assert_eq!(ends, case.ends, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(payloads(&said).len(), case.said, "{} in pieces of {cuts:?}", case.name);
        }
    }
}

/// The packets in these bytes: their numbers and payloads.
fn payloads(mut bytes: &[u8]) -> Vec<(u8, &[u8])> {
    let mut found = Vec::new();
    while let [a, b, c, number, rest @ ..] = bytes {
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        found.push((*number, &rest[..length]));
        bytes = &rest[length..];
    }
    found
}

#[test]
fn another_client_reads_the_same_greeting_and_another_server_the_same_reply() {
    let theirs = ParseBuf(cases::GREETING).parse::<HandshakePacket<'_>>(()).unwrap();
    let ours = Greeting::read(cases::GREETING).unwrap();
    assert_eq!(theirs.connection_id(), ours.connection);
    assert_eq!(u64::from(theirs.capabilities().bits()), ours.capabilities & 0xffff_ffff);
    assert_eq!(theirs.nonce(), [ours.nonce.0, ours.nonce.1].concat());
    assert_eq!(theirs.auth_plugin_name_ref().unwrap(), ours.plugin);

    let bytes = framed(0, &[cases::GREETING]);
    let (said, _) = eat::login(&bytes, "secret", &[bytes.len()]);
    let [(1, reply)] = payloads(&said)[..] else { panic!("not one packet: {said:?}") };
    let theirs = ParseBuf(reply).parse::<HandshakeResponse<'_>>(()).unwrap();
    let proof = mysql_native_password::scramble_native(b"rg.Mw34Mf8'W`_;F0ZV!", b"secret");
    assert_eq!(theirs.scramble_buf(), proof.unwrap());
    assert_eq!((theirs.user(), theirs.db_name()), (&b"joe"[..], Some(&b"bench"[..])));
    let wanted = CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    assert!(theirs.capabilities().contains(wanted));
    let ours = Reply::read(reply).unwrap().unwrap();
    assert_eq!((ours.user, ours.database), (&b"joe"[..], &b"bench"[..]));
    assert_eq!(ours.capabilities >> 32, u64::from(theirs.mariadb_ext_capabilities().bits()));
}

#[test]
fn a_greeting_is_read_as_it_was_written() {
    for payload in [cases::GREETING, cases::GREETING_OF_OLD] {
        let greeting = Greeting::read(payload).unwrap();
        let mut written = Vec::new();
        greeting.write(&mut written);
        assert_eq!(Greeting::read(&written).unwrap(), greeting);
    }
}

#[test]
fn passwords_are_proven_as_others_do() {
    let nonce = b"12345678901234567890";
    let prove = |plugin: Plugin, password: &[u8], private| {
        let mut out = Vec::new();
        plugin.prove(password, nonce, private, &mut out).map(|()| out)
    };
    let native = mysql_native_password::scramble_native(nonce, b"secret").unwrap();
    assert_eq!(prove(Plugin::Native, b"secret", false).unwrap(), native);
    let sha2 = caching_sha2_password::scramble_sha256(nonce, b"secret").unwrap();
    assert_eq!(prove(Plugin::CachingSha2, b"secret", false).unwrap(), sha2);
    assert!(prove(Plugin::Native, b"", false).unwrap().is_empty());
    assert_eq!(prove(Plugin::Clear, b"secret", true).unwrap(), b"secret\0");
    assert_eq!(prove(Plugin::Clear, b"secret", false), Err(Error::NotPrivate));
    // A signature's length; MariaDB itself judges what is in it, in the engine's tests.
    assert_eq!(prove(Plugin::Ed25519, b"secret", false).unwrap().len(), 64);
}

#[test]
fn over_tls_the_password_is_sent_in_full_where_it_is_wanted() {
    let account =
        Account { user: b"joe".to_vec(), password: b"secret".to_vec(), ..Account::default() };
    let (mut packets, mut login, mut said) = (Packets::default(), Login::new(true, false), vec![]);
    let greeting = with_tls(cases::GREETING);
    let mut step = |packets: &mut Packets, bytes: &[u8], said: &mut Vec<u8>| {
        login.next(&account, packets, &mut &*bytes, said).map(|p| p == Progress::Secure)
    };
    assert!(step(&mut packets, &framed(0, &[&greeting]), &mut said).unwrap());
    let [(1, asked)] = payloads(&said)[..] else { panic!("not one packet: {said:?}") };
    assert_eq!(asked.len(), 32);
    assert_eq!(Reply::read(asked), Ok(None));
    said.clear();
    login.secured(&account, &mut said).unwrap();
    let [(2, reply)] = payloads(&said)[..] else { panic!("not one packet: {said:?}") };
    assert_eq!(Reply::read(reply).unwrap().unwrap().user, b"joe");
    said.clear();
    let asked = [framed(3, &[b"\xfecaching_sha2_password\x0012345678901234567890\0"])].concat();
    login.next(&account, &mut packets, &mut &*asked, &mut said).unwrap();
    login.next(&account, &mut packets, &mut &*framed(5, &[b"\x01\x04"]), &mut said).unwrap();
    assert_eq!(payloads(&said)[1], (6, &b"secret\0"[..]));

    let mut without = Login::new(true, false);
    let greeting = framed(0, &[cases::GREETING]);
    let mut packets = Packets::default();
    let refused = without.next(&account, &mut packets, &mut &*greeting, &mut said);
    assert_eq!(refused, Err(Error::NoTls));
}

/// The greeting of a server that has TLS.
fn with_tls(greeting: &[u8]) -> Vec<u8> {
    let mut greeting = Greeting::read(greeting).unwrap();
    greeting.capabilities |= capability::TLS;
    let mut written = Vec::new();
    greeting.write(&mut written);
    written
}

#[test]
fn questions_are_read_whole_and_byte_by_byte() {
    for case in cases::ASKED {
        let bytes = [cases::LOGIN, case.bytes].concat();
        for cuts in [[bytes.len()], [1], [7]] {
            let (told, broken) = eat::questions(&bytes, &cuts);
            assert_eq!(told[1..], *case.told, "{} in pieces of {cuts:?}", case.name);
            assert_eq!(broken, None, "{}", case.name);
        }
    }
}

#[test]
fn a_payload_of_several_packets_is_one() {
    const FULL: usize = 0xff_ffff;
    for length in [FULL - 1, FULL, FULL + 1, 2 * FULL] {
        let mut bytes = Vec::new();
        let next = packet(0, &mut bytes, |out| out.resize(out.len() + length, 7));
        assert_eq!(usize::from(next), 1 + length / FULL);
        for cut in [bytes.len(), 1 << 20] {
            let (mut packets, mut whole) = (Packets::default(), None);
            for mut piece in bytes.chunks(cut) {
                whole = packets.next(&mut piece).unwrap().map(<[u8]>::len);
                assert!(piece.is_empty());
            }
            assert_eq!(whole, Some(length));
        }
    }
}

#[test]
fn a_payload_without_end_is_refused() {
    let (mut packets, mut packet) = (Packets::default(), vec![0xff, 0xff, 0xff, 0]);
    packet.resize(4 + 0xff_ffff, 7);
    let refused = (0..6).find_map(|number| {
        packet[3] = number;
        packets.next(&mut &*packet).err()
    });
    assert_eq!(refused, Some(Error::TooLong));
}

/// A client and a server of this crate with each other: what the client is told.
fn conversation(capabilities: u64, kind: Kind, asked: &[u8]) -> Vec<String> {
    let table = Table::new(&["id", "name"], &[(1, "one"), (-2, "it's two")]);
    let (mut server, mut answer) = (Server::new(capabilities), Vec::new());
    server.greet(&mut answer);
    let (mut packets, mut login, mut said) =
        (Packets::default(), Login::new(false, false), Vec::new());
    let account = Account::default();
    let session = loop {
        let (mut heard, mut input) = (std::mem::take(&mut answer), &*said);
        while server.serve(&table, &mut input, &mut heard).unwrap() != Served::More {}
        said.clear();
        match login.next(&account, &mut packets, &mut &*heard, &mut said).unwrap() {
            Progress::Done(session) => break session,
            progress => assert_eq!(progress, Progress::More),
        }
    };
    server.serve(&table, &mut &*asked, &mut answer).unwrap();
    eat::answers(&answer, kind, session.capabilities, &[answer.len()]).0
}

#[test]
fn client_and_server_understand_each_other_whatever_they_agree_on() {
    let values = [Parameter::Integer(-5), Parameter::Text(b"x"), Parameter::Real(0.5)];
    let mut executed = Vec::new();
    // The server's number of a statement says that there are rows.
    execute(2, values.len(), values.into_iter(), &mut executed);
    let mut asked = Vec::new();
    query(b"select * from t", &mut asked);
    let mut prepared = Vec::new();
    prepare(b"SELECT ?, '?' FROM t WHERE x = ?", &mut prepared);
    let mut changed = Vec::new();
    query(b"UPDATE t SET x = 1", &mut changed);
    let rows = [
        "row [Ok(Integer(1)), Ok(Text([111, 110, 101]))]",
        "row [Ok(Integer(-2)), Ok(Text([105, 116, 39, 115, 32, 116, 119, 111]))]",
        "Done { affected: 0, last_insert: 0, status: 2, warnings: 0 }",
    ];
    for capabilities in [TODAY, CACHING, OF_OLD] {
        let capabilities = capabilities | capability::SECURE;
        assert_eq!(conversation(capabilities, Kind::Text, &asked), rows);
        assert_eq!(conversation(capabilities, Kind::Execute, &executed), rows);
        let told = conversation(capabilities, Kind::Prepare, &prepared);
        assert_eq!(told, ["Prepared { statement: 2, parameters: 2, columns: 2 }"]);
        let told = conversation(capabilities, Kind::Text, &changed);
        assert_eq!(told, ["Done { affected: 1, last_insert: 0, status: 2, warnings: 0 }"]);
    }
}

#[test]
fn a_farewell_ends_the_conversation() {
    let (mut server, mut said) = (Server::default(), cases::LOGIN.to_vec());
    server.greet(&mut Vec::new());
    quit(&mut said);
    let (table, mut input) = (Table::new(&["id"], &[]), &*said);
    let mut serve = || server.serve(&table, &mut input, &mut Vec::new());
    assert_eq!(serve(), Ok(Served::Aside));
    assert_eq!(serve(), Ok(Served::Farewell));
    assert_eq!(serve(), Ok(Served::More));
}

#[test]
fn literals_are_written_so_that_nothing_in_them_is_more_than_text() {
    let written = |value, backslashes| {
        let mut out = Vec::new();
        literal(value, backslashes, &mut out);
        String::from_utf8(out).unwrap()
    };
    let text = Parameter::Text(br"it's a \ b");
    assert_eq!(written(text, true), r"'it\'s a \\ b'");
    assert_eq!(written(text, false), r"'it''s a \ b'");
    assert_eq!(written(Parameter::Text(b"\0"), true), "'\\0'");
    assert_eq!(written(Parameter::Bytes(b"\x00'\xff"), true), "x'0027ff'");
    assert_eq!(written(Parameter::Integer(-5), true), "-5");
    assert_eq!(written(Parameter::Real(0.5), true), "5e-1");
}

#[test]
fn the_fuzz_corpus_is_eaten_alike_in_any_pieces() {
    corpus::eaten("mysql_messages", eat::any);
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
    fn damaged_answers_are_eaten_alike_in_any_pieces(
        case in 0..cases::ANSWERS.len(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cuts in prop::collection::vec(1usize..20, 1..5),
    ) {
        let mut bytes = cases::ANSWERS[case].bytes();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        eat::any(&bytes, &cuts);
    }

    #[test]
    fn rows_of_any_bytes_are_read_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 1..60),
        kind in any::<u8>(),
    ) {
        let mut column = b"\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\x80\0\x06\0\0".to_vec();
        let at = column.len() - 6;
        column[at] = kind;
        let packets: [&[u8]; 4] = [b"\x02", &column, &column, &[&[0], &*bytes].concat()];
        let answer = framed(1, &packets);
        let (told, _) = eat::answers(&answer, Kind::Execute, TODAY, &[answer.len()]);
        prop_assert_eq!(told.len(), 1);
    }
}

#[test]
fn a_value_of_a_column_is_what_its_kind_says() {
    let described = |kind: u8, unsigned: bool, decimals: u8| {
        let mut column = b"\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0".to_vec();
        column.extend_from_slice(&[kind, if unsigned { 32 } else { 0 }, 0, decimals, 0, 0]);
        column
    };
    for (kind, unsigned, decimals, value, expected) in [
        (1, false, 0, &b"\xff"[..], "Integer(-1)"),
        (1, true, 0, b"\xff", "Unsigned(255)"),
        (2, false, 0, b"\xff\xff", "Integer(-1)"),
        (13, true, 0, b"\xe8\x07", "Unsigned(2024)"),
        (3, false, 0, b"\xfe\xff\xff\xff", "Integer(-2)"),
        (8, true, 0, b"\xff\xff\xff\xff\xff\xff\xff\xff", "Unsigned(18446744073709551615)"),
        (4, false, 31, b"\0\0\0\x3f", "Single(0.5)"),
        (5, false, 31, b"\0\0\0\0\0\0\xe0\x3f", "Real(0.5)"),
        (246, false, 2, b"\x041.50", "Text([49, 46, 53, 48])"),
        (10, false, 0, b"\x04\xe8\x07\x02\x1d", "Time(2024-02-29)"),
        (12, false, 0, b"\0", "Time(0000-00-00 00:00:00)"),
        (
            7,
            false,
            6,
            b"\x0b\xe8\x07\x02\x1d\x01\x02\x03\x05\0\0\0",
            "Time(2024-02-29 01:02:03.000005)",
        ),
        (11, false, 0, b"\x08\x01\x02\0\0\0\x01\x02\x03", "Time(-49:02:03)"),
        (11, false, 0, b"\x03\x01\x02\0", "error"),
    ] {
        let payload = [&[0, 0], value].concat();
        let answer = framed(1, &[b"\x01", &described(kind, unsigned, decimals), &payload]);
        let (told, _) = eat::answers(&answer, Kind::Execute, TODAY, &[answer.len()]);
        let expected = match expected {
            "error" => "row [Err(Malformed(\"a time that is none\"))]".to_owned(),
            value => format!("row [Ok({value})]"),
        };
        assert_eq!(told, [expected]);
    }
}
