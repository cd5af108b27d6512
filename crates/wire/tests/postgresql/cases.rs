//! The table of cases.

use wire::frames::TooLong;
use wire::postgresql::Error;

/// Bytes of a server and what a client must make of them.
pub struct Case {
    pub name: &'static str,
    pub bytes: &'static [u8],
    pub messages: &'static [&'static str],
    pub torn: bool,
    pub error: Option<Error>,
}

const fn good(name: &'static str, bytes: &'static [u8], messages: &'static [&'static str]) -> Case {
    Case { name, bytes, messages, torn: false, error: None }
}

const fn torn(name: &'static str, bytes: &'static [u8]) -> Case {
    Case { name, bytes, messages: &[], torn: true, error: None }
}

const fn bad(name: &'static str, bytes: &'static [u8], error: Error) -> Case {
    Case { name, bytes, messages: &[], torn: false, error: Some(error) }
}

pub const CASES: &[Case] = &[
    good("nothing", b"", &[]),
    good(
        "a prepared statement's answer",
        b"2\0\0\0\x04D\0\0\0\x0c\0\x01\0\0\0\x0242C\0\0\0\rSELECT 1\0Z\0\0\0\x05I",
        &["BindComplete", r#"row [Some("42")]"#, "complete SELECT 1 1", "Ready(Idle)"],
    ),
    good(
        "null, empty and no columns",
        b"D\0\0\0\x0e\0\x02\xff\xff\xff\xff\0\0\0\0D\0\0\0\x06\0\0",
        &[r#"row [None, Some("")]"#, "row []"],
    ),
    good(
        "tags with numbers and without",
        b"C\0\0\0\x10INSERT 0 12\0C\0\0\0\x0aBEGIN\0C\0\0\0\x05\0",
        &["complete INSERT 0 12 12", "complete BEGIN 0", "complete  0"],
    ),
    good(
        "the states of a transaction",
        b"Z\0\0\0\x05TZ\0\0\0\x05E",
        &["Ready(Open)", "Ready(Failed)"],
    ),
    good(
        "a complaint with more fields than are read",
        b"E\0\0\0\x3aSERROR\0VERROR\0C42P01\0Mno table\0P15\0Fparse.c\0L1392\0Rx\0\0",
        &["error 42P01 no table fatal=false"],
    ),
    good(
        "a complaint that ends the connection, its severity translated",
        b"E\0\0\0\x20SFATAAL\0VFATAL\0C57P01\0Mbye\0\0",
        &["error 57P01 bye fatal=true"],
    ),
    good("a complaint that says nothing", b"E\0\0\0\x05\0", &["error   fatal=false"]),
    good(
        "a statement described",
        b"1\0\0\0\x04t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\0\x19T\0\0\0\x1b\0\x01ab\0\0\0\0\0\0\0\
          \0\0\0\x11\xff\xff\xff\xff\xff\xff\0\0n\0\0\0\x04",
        &["ParseComplete", "parameters [23, 25]", "columns [17]", "NoData"],
    ),
    good(
        "ways of asking who it is",
        b"R\0\0\0\x08\0\0\0\0R\0\0\0\x08\0\0\0\x03R\0\0\0\x0c\0\0\0\x05abcdR\0\0\0\x08\0\0\0\x07",
        &[
            "Authentication(Ok)",
            "Authentication(Password)",
            "Authentication(Md5([97, 98, 99, 100]))",
            "Authentication(Other(7))",
        ],
    ),
    good(
        "what comes unasked is passed by",
        b"N\0\0\0\x05\0S\0\0\0\x08a\0b\0K\0\0\0\x0c\0\0\0\0\0\0\0\0A\0\0\0\x0a\0\0\0\0a\0",
        &["Aside", "Aside", "Aside", "Aside"],
    ),
    good(
        "COPY, emptiness, closing, a limit",
        b"G\0\0\0\x07\0\0\0I\0\0\0\x043\0\0\0\x04s\0\0\0\x04",
        &["CopyIn", "Empty", "CloseComplete", "Suspended"],
    ),
    torn("a kind alone", b"D"),
    torn("half a length", b"D\0\0"),
    torn("half a row", b"D\0\0\0\x0c\0\x01\0\0\0\x024"),
    torn("a long message that has only begun", b"D\x0f\xff\xff\xff\0\x01"),
    bad(
        "another protocol whose first letter is a kind",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        Error::TooLong(TooLong { bytes: 0x5454_5030 }),
    ),
    bad("TLS", b"\x16\x03\x01\x02", Error::Kind(0x16)),
    bad("a length less than its own", b"Z\0\0\0\x03I", Error::Length),
    bad("a length of nothing", b"D\0\0\0\0", Error::Length),
    bad(
        "a length beyond measure",
        b"D\xff\xff\xff\xff",
        Error::TooLong(TooLong { bytes: 0x1_0000_0000 }),
    ),
    bad("a row with more values than it holds", b"D\0\0\0\x06\0\x01", Error::Malformed(b'D')),
    bad("a value longer than its row", b"D\0\0\0\x0c\0\x01\0\0\0\x0342", Error::Malformed(b'D')),
    bad(
        "a value longer than anything",
        b"D\0\0\0\x0c\0\x01\xff\xff\xff\xfe42",
        Error::Malformed(b'D'),
    ),
    bad("a row with surplus", b"D\0\0\0\x07\0\0x", Error::Malformed(b'D')),
    bad("a tag without end", b"C\0\0\0\x09BEGIN", Error::Malformed(b'C')),
    bad("a state that is none", b"Z\0\0\0\x05X", Error::Malformed(b'Z')),
    bad("a state of two bytes", b"Z\0\0\0\x06II", Error::Malformed(b'Z')),
    bad("a bare message with an inside", b"2\0\0\0\x05x", Error::Malformed(b'2')),
    bad("a complaint without end", b"E\0\0\0\x09C4242", Error::Malformed(b'E')),
    bad("fewer types than promised", b"t\0\0\0\x06\0\x01", Error::Malformed(b't')),
    bad("fewer columns than promised", b"T\0\0\0\x08\0\x01a\0", Error::Malformed(b'T')),
    bad("a salt cut short", b"R\0\0\0\x0a\0\0\0\x05ab", Error::Malformed(b'R')),
    bad("rows of a COPY nobody asked for", b"d\0\0\0\x04", Error::Unexpected(b'd')),
];
