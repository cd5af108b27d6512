//! The table of cases; most payloads are what `MariaDB` 10.11 sent.

use wire::mysql::{Error, Kind};

use crate::eat::{CACHING, Ending, OF_OLD, TODAY};

/// What a server sends and what a client must make of it.
pub struct Answer {
    pub name: &'static str,
    pub kind: Kind,
    pub capabilities: u64,
    /// Packets, numbered from 1 as long as the answers before them are whole.
    pub payloads: &'static [&'static [u8]],
    pub told: &'static [&'static str],
    pub ending: Ending,
}

impl Answer {
    pub fn bytes(&self) -> Vec<u8> {
        framed(1, self.payloads)
    }
}

/// Payloads with their headers, numbered from `first` on.
pub fn framed(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, payload) in (first..).zip(payloads) {
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        bytes.push(number);
        bytes.extend_from_slice(payload);
    }
    bytes
}

const ID: &[u8] = b"\x03def\x05bench\x01t\x01t\x02id\x02id\x0c?\0\x14\0\0\0\x08\x03P\0\0\0";
const NAME: &[u8] = b"\x03def\x05bench\x01t\x01t\x04name\x04name\x0c-\0P\0\0\0\xfd\x01\x10\0\0\0";
const REAL: &[u8] = b"\x03def\x05bench\x01t\x01t\x01x\x01x\x0c?\0\x16\0\0\0\x05\0\0\x1f\0\0";
const TIME: &[u8] = b"\x03def\x05bench\x01t\x01t\x01d\x01d\x0c?\0\x17\0\0\0\x0c\x80\0\x03\0\0";
const VALUE: &[u8] = b"\x03def\0\0\0\x01?\0\x0c?\0\0\0\0\0\x06\x80\0\0\0\0";
const OK: &[u8] = b"\0\0\0\x02\0\0\0";
const OK_BEHIND: &[u8] = b"\xfe\0\0\x02\0\0\0";
const END: &[u8] = b"\xfe\0\0\x02\0";
const BINARY_ROW: &[u8] = b"\0\0\x01\0\0\0\0\0\0\0\x03one";
const FULL_ROW: &[u8] = b"\0\0\x01\0\0\0\0\0\0\0\x03one\0\0\0\0\0\0\xe0?\
    \x0b\xe8\x07\x02\x1d\x0c\x1e\0H\xe8\x01\0";
const DONE: &str = "Done { affected: 0, last_insert: 0, status: 2, warnings: 0 }";
const ROW: &str = "row [Ok(Integer(1)), Ok(Text([111, 110, 101]))]";
const PREPARED: &str = "Prepared { statement: 1, parameters: 1, columns: 2 }";
/// A statement of one value and two columns.
const STATEMENT: &[u8] = b"\0\x01\0\0\0\x02\0\x01\0\0\0\0";

const fn good(
    name: &'static str,
    kind: Kind,
    capabilities: u64,
    payloads: &'static [&'static [u8]],
    told: &'static [&'static str],
) -> Answer {
    Answer { name, kind, capabilities, payloads, told, ending: Ending::Clean }
}

const fn bad(
    name: &'static str,
    kind: Kind,
    payloads: &'static [&'static [u8]],
    why: &'static str,
) -> Answer {
    let ending = Ending::Broken(Error::Malformed(why));
    Answer { name, kind, capabilities: CACHING, payloads, told: &[], ending }
}

const fn waiting(name: &'static str, kind: Kind, payloads: &'static [&'static [u8]]) -> Answer {
    Answer { name, kind, capabilities: TODAY, payloads, told: &[], ending: Ending::Waiting }
}

const CUT: &str = "a packet ends too early";

pub const ANSWERS: &[Answer] = &[
    good("nothing", Kind::Text, TODAY, &[], &[]),
    good("done", Kind::Text, TODAY, &[OK], &[DONE]),
    good(
        "a row changed within a transaction",
        Kind::Text,
        TODAY,
        &[b"\0\x01\x05\x03\0\0\0"],
        &["Done { affected: 1, last_insert: 5, status: 3, warnings: 0 }"],
    ),
    good(
        "many rows changed, with a word on it",
        Kind::Text,
        TODAY,
        &[b"\0\xfc\xe8\x03\0\x02\0\x01\0told"],
        &["Done { affected: 1000, last_insert: 0, status: 2, warnings: 1 }"],
    ),
    good(
        "refused",
        Kind::Execute,
        CACHING,
        &[b"\xff&\x04#23000No"],
        &["Refusal { code: 1062, state: [50, 51, 48, 48, 48], message: [78, 111] }"],
    ),
    good(
        "refused without a state",
        Kind::Text,
        TODAY,
        &[b"\xff&\x04No"],
        &["Refusal { code: 1062, state: [72, 89, 48, 48, 48], message: [78, 111] }"],
    ),
    good(
        "a prepared statement's row, columns left out",
        Kind::Execute,
        CACHING,
        &[b"\x02\0", BINARY_ROW, OK_BEHIND],
        &[ROW, DONE],
    ),
    good("no row", Kind::Execute, CACHING, &[b"\x02\0", OK_BEHIND], &[DONE]),
    good(
        "columns that changed",
        Kind::Execute,
        CACHING,
        &[
            b"\x04\x01",
            ID,
            NAME,
            REAL,
            TIME,
            FULL_ROW,
            b"\x000\x02\0\0\0\0\0\0\0\x03two",
            OK_BEHIND,
        ],
        &[
            "row [Ok(Integer(1)), Ok(Text([111, 110, 101])), Ok(Real(0.5)), \
           Ok(Time(2024-02-29 12:30:00.125))]",
            "row [Ok(Integer(2)), Ok(Text([116, 119, 111])), Ok(Null), Ok(Null)]",
            DONE,
        ],
    ),
    good(
        "columns as they are described to all but MariaDB's clients",
        Kind::Execute,
        TODAY,
        &[b"\x02", ID, NAME, BINARY_ROW, OK_BEHIND],
        &[ROW, DONE],
    ),
    good(
        "ends of old",
        Kind::Execute,
        OF_OLD,
        &[b"\x02", ID, NAME, END, BINARY_ROW, END],
        &[ROW, DONE],
    ),
    good(
        "rows as text",
        Kind::Text,
        CACHING,
        &[
            b"\x04\x01",
            ID,
            NAME,
            REAL,
            TIME,
            b"\x011\x03one\x030.5\x0a2024-02-29",
            b"\x012\x03two\xfb\xfb",
            OK_BEHIND,
        ],
        &[
            "row [Ok(Integer(1)), Ok(Text([111, 110, 101])), Ok(Text([48, 46, 53])), \
           Ok(Text([50, 48, 50, 52, 45, 48, 50, 45, 50, 57]))]",
            "row [Ok(Integer(2)), Ok(Text([116, 119, 111])), Ok(Null), Ok(Null)]",
            DONE,
        ],
    ),
    good(
        "refused among the rows",
        Kind::Text,
        TODAY,
        &[b"\x02", ID, NAME, b"\x011\x03one", b"\xff&\x04#23000No"],
        &[ROW, "Refusal { code: 1062, state: [50, 51, 48, 48, 48], message: [78, 111] }"],
    ),
    good(
        "two answers to one command",
        Kind::Text,
        TODAY,
        &[b"\x02", ID, NAME, b"\x011\x03one", b"\xfe\0\0\x0a\0\0\0", OK],
        &[ROW, "Done { affected: 0, last_insert: 0, status: 10, warnings: 0 }", DONE],
    ),
    good("prepared", Kind::Prepare, CACHING, &[STATEMENT, VALUE, ID, NAME], &[PREPARED]),
    good(
        "prepared, with ends of old",
        Kind::Prepare,
        OF_OLD,
        &[STATEMENT, VALUE, END, ID, NAME, END],
        &[PREPARED],
    ),
    good(
        "prepared without values and columns",
        Kind::Prepare,
        OF_OLD,
        &[b"\0\x01\0\0\0\0\0\0\0\0\0\0"],
        &["Prepared { statement: 1, parameters: 0, columns: 0 }"],
    ),
    waiting("columns without rows", Kind::Text, &[b"\x02", ID, NAME]),
    waiting("a statement whose columns are missing", Kind::Prepare, &[STATEMENT, VALUE]),
    bad("an empty packet", Kind::Text, &[b""], CUT),
    bad("half an OK", Kind::Text, &[b"\0\0\0\x02"], CUT),
    bad("no columns", Kind::Text, &[b"\x02"], CUT),
    bad(
        "a number of columns with more behind",
        Kind::Text,
        &[b"\x02\x01\0"],
        "neither done nor a number of columns",
    ),
    bad(
        "more columns than there can be",
        Kind::Text,
        &[b"\xfd\0\0\x01\x01"],
        "more columns than there can be",
    ),
    bad(
        "other columns than were described",
        Kind::Execute,
        &[b"\x03\0"],
        "other columns than were described",
    ),
    bad(
        "a column cut short",
        Kind::Text,
        &[b"\x01\x01", b"\x03def\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"],
        CUT,
    ),
    bad(
        "text where a binary row should be",
        Kind::Execute,
        &[b"\x02\0", b"\x011\x03one"],
        "no row where one should be",
    ),
    bad("no statement", Kind::Prepare, &[b"\x01\0\0"], "not a prepared statement"),
    Answer {
        ending: Ending::Broken(Error::LocalFile),
        ..bad("a wish for a file", Kind::Text, &[b"\xfb/etc/passwd"], "")
    },
    good(
        "rows that are cut, too long or no numbers",
        Kind::Text,
        TODAY,
        &[b"\x02", ID, NAME, b"\x011\x04one", b"\x011\x01ab", b"\x01x\x01a", OK_BEHIND],
        &[
            "row [Ok(Integer(1)), Err(Malformed(\"a packet ends too early\")), \
             Err(Malformed(\"a row is longer than its columns\"))]",
            "row [Ok(Integer(1)), Ok(Text([97])), \
             Err(Malformed(\"a row is longer than its columns\"))]",
            "row [Err(Malformed(\"a whole number that is none\")), Ok(Text([97]))]",
            DONE,
        ],
    ),
];

/// What a server says at a log-in by `joe` with the password `secret`, and how it ends.
pub struct Opening {
    pub name: &'static str,
    /// Payloads with their packets' numbers.
    pub payloads: &'static [(u8, &'static [u8])],
    /// How many packets the client says.
    pub said: usize,
    pub ends: &'static str,
}

const fn opening(
    name: &'static str,
    payloads: &'static [(u8, &'static [u8])],
    said: usize,
    ends: &'static str,
) -> Opening {
    Opening { name, payloads, said, ends }
}

pub const GREETING: &[u8] = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x04\0\0\0rg.Mw34M\0\
    \xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0f8'W`_;F0ZV!\0mysql_native_password\0";
/// The example of `MySQL`'s manual.
pub const GREETING_OF_OLD: &[u8] = b"\x0a5.5.2-m2\0\x0b\0\0\0dvH@I-CJ\0\xff\xf7\x08\x02\0\0\0\0\0\
    \0\0\0\0\0\0\0\0\0\0*4d|cZwk4^]:\0";
const SPHINX: &[u8] = b"\x0a2.2.11-id64-release (95ae9a6)\0\x01\0\0\0\x01\x02\x03\x04\x05\x06\x07\
    \x08\0\x08\x82\x21\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\
    \x0b\x0c\x0d\0";
const SWITCH: &[u8] = b"\xfecaching_sha2_password\x0012345678901234567890\0";
const DONE_LOGGING_IN: &str =
    "Done(Session { capabilities: 68737212942, status: 2, connection: 4 })";

pub const OPENINGS: &[Opening] = &[
    opening("MariaDB", &[(0, GREETING), (2, OK)], 1, DONE_LOGGING_IN),
    opening(
        "as of old",
        &[(0, GREETING_OF_OLD), (2, OK)],
        1,
        "Done(Session { capabilities: 41487, status: 2, connection: 11 })",
    ),
    opening(
        "Sphinx",
        &[(0, SPHINX), (2, OK)],
        1,
        "Done(Session { capabilities: 33288, status: 2, connection: 1 })",
    ),
    opening("a greeting alone", &[(0, GREETING)], 1, "waiting"),
    opening(
        "another way",
        &[(0, GREETING), (2, SWITCH), (4, b"\x01\x03"), (5, OK)],
        2,
        DONE_LOGGING_IN,
    ),
    opening(
        "the password in full",
        &[(0, GREETING), (2, SWITCH), (4, b"\x01\x04")],
        2,
        "NotPrivate",
    ),
    opening(
        "the password in clear",
        &[(0, GREETING), (2, b"\xfemysql_clear_password\0")],
        1,
        "NotPrivate",
    ),
    opening(
        "an unknown way",
        &[(0, GREETING), (2, b"\xfeauth_gssapi_client\0")],
        1,
        "UnknownPlugin",
    ),
    opening("a way of before 4.1", &[(0, GREETING), (2, b"\xfe")], 1, "UnknownPlugin"),
    opening(
        "more than was agreed on",
        &[(0, GREETING), (2, b"\x01\x03")],
        1,
        "Malformed(\"more is asked than was agreed on\")",
    ),
    opening(
        "refused",
        &[(0, GREETING), (2, b"\xff\x15\x04#28000No")],
        1,
        "Refused(Refusal { code: 1045, state: [50, 56, 48, 48, 48], message: [78, 111] })",
    ),
    opening(
        "too many",
        &[(0, b"\xff\x10\x04Too many")],
        0,
        "Refused(Refusal { code: 1040, state: [72, 89, 48, 48, 48], \
         message: [84, 111, 111, 32, 109, 97, 110, 121] })",
    ),
    opening("version 9", &[(0, b"\x09x\0")], 0, "Version(9)"),
    opening("a wrong number", &[(1, GREETING)], 0, "Sequence { expected: 0, found: 1 }"),
    opening(
        "of before 4.1",
        &[(0, b"\x0a4.0\0\x01\0\0\x0012345678\0\0\0")],
        0,
        "Malformed(\"a server of before 4.1\")",
    ),
    opening(
        "cut short",
        &[(0, b"\x0a5\0\x01\0\0\x00123")],
        0,
        "Malformed(\"a packet ends too early\")",
    ),
    opening(
        "something else",
        &[(0, GREETING), (2, b"\x07")],
        1,
        "Malformed(\"no answer to a log-in\")",
    ),
];

/// What a client says behind its log-in, and what a server makes of it.
pub struct Asked {
    pub name: &'static str,
    pub bytes: &'static [u8],
    pub told: &'static [&'static str],
}

/// The log-in of a client without a password, as `MariaDB` took it.
pub const LOGIN: &[u8] =
    b"B\0\0\x01\x0e\xa2\x0e\x01\0\0\0\x01-\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\
    \0\0\0nopw\0\0bench\0mysql_native_password\0";

pub const ASKED: &[Asked] = &[
    Asked { name: "query", bytes: b"\x09\0\0\0\x03SELECT 1", told: &["query SELECT 1"] },
    Asked { name: "prepare", bytes: b"\x09\0\0\0\x16SELECT ?", told: &["prepare SELECT ?"] },
    Asked {
        name: "execute",
        bytes: b"\x16\0\0\0\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0",
        told: &["Execute(1)"],
    },
    Asked {
        name: "two at once and a farewell",
        bytes: b"\x01\0\0\0\x0e\x05\0\0\0\x19\x01\0\0\0\x01\0\0\0\x01",
        told: &["Other(14)", "Silent(25)", "Quit"],
    },
    Asked { name: "half a query", bytes: b"\x09\0\0\0\x03SELE", told: &[] },
];
