//! The table of cases.

use wire::memcached::Error;

use crate::eat::Ending;

/// Bytes of a server and what a client must make of them.
pub struct Case {
    pub name: &'static str,
    pub bytes: &'static str,
    /// Each line: its rows, what it says, whether it is the last and whether it is an error.
    pub told: &'static [&'static str],
    pub ending: Ending,
}

const fn good(name: &'static str, bytes: &'static str, told: &'static [&'static str]) -> Case {
    Case { name, bytes, told, ending: Ending::Clean }
}

const fn torn(name: &'static str, bytes: &'static str, told: &'static [&'static str]) -> Case {
    Case { name, bytes, told, ending: Ending::Waiting }
}

const fn bad(name: &'static str, bytes: &'static str, error: Error) -> Case {
    Case { name, bytes, told: &[], ending: Ending::Broken(error) }
}

pub const ANSWERS: &[Case] = &[
    good("nothing", "", &[]),
    good("stored", "STORED\r\n", &["1 STORED."]),
    good("not stored", "NOT_STORED\r\n", &["0 NOT_STORED."]),
    good("changed meanwhile", "EXISTS\r\n", &["0 EXISTS."]),
    good("deleted, and not", "DELETED\r\nNOT_FOUND\r\n", &["1 DELETED.", "0 NOT_FOUND."]),
    good("touched", "TOUCHED\r\n", &["1 TOUCHED."]),
    good("a number", "18446744073709551615\r\n", &["1 18446744073709551615."]),
    good("a version", "VERSION 1.6.18\r\n", &["1 VERSION 1.6.18."]),
    good("nothing there", "END\r\n", &["0 nothing."]),
    good("a value", "VALUE k 7 5\r\nhello\r\nEND\r\n", &["1 hello", "0 nothing."]),
    good("an empty value", "VALUE k 0 0\r\n\r\nEND\r\n", &["1 ", "0 nothing."]),
    good(
        "values that look like lines",
        "VALUE a 0 5\r\nEND\r\n\r\nVALUE b 0 4 99\r\n\r\nx\n\r\nEND\r\n",
        &[r"1 END\r\n", r"1 \r\nx\n", "0 nothing."],
    ),
    good("statistics", "STAT pid 7\r\nEND\r\n", &["1 STAT pid 7", "0 nothing."]),
    good("statistics of nothing", "RESET\r\n", &["1 RESET."]),
    good("no such command", "ERROR\r\n", &["0 ERROR. failed: ERROR"]),
    good(
        "a client's error and a server's",
        "CLIENT_ERROR bad data chunk\r\nSERVER_ERROR out of memory\r\n",
        &[
            "0 CLIENT_ERROR bad data chunk. failed: CLIENT_ERROR bad data chunk",
            "0 SERVER_ERROR out of memory. failed: SERVER_ERROR out of memory",
        ],
    ),
    good("a meta hit", "HD\r\n", &["1 HD."]),
    good("a meta hit with flags", "HD f7 Oab kx t-1\r\n", &["1 HD f7 Oab kx t-1."]),
    good("a meta value", "VA 5 f0 kx\r\nhello\r\n", &["1 hello."]),
    good("an empty meta value", "VA 0\r\n\r\n", &["1 ."]),
    good("a meta miss", "EN\r\n", &["0 nothing."]),
    good("not found, with opaque", "NF O1\r\n", &["0 NF O1."]),
    good("not stored, and changed", "NS\r\nEX k1\r\n", &["0 NS.", "0 EX k1."]),
    good("a no-op behind a value", "VA 1 O1\r\nx\r\nMN\r\n", &["1 x.", "1 MN."]),
    good("an item's facts", "ME k exp=-1 la=3\r\n", &["1 ME k exp=-1 la=3."]),
    torn("half a line", "STORED\r", &[]),
    torn("half a value", "VALUE k 0 5\r\nhel", &[]),
    torn("a value without its end", "END\r\nVALUE k 0 5\r\nhello\r", &["0 nothing."]),
    torn("a length that is believed", "VA 1073741824\r\nx", &[]),
    bad("garbage", "HTTP/1.1 400 Bad Request\r\n", Error::Kind),
    bad("an empty line", "\r\n", Error::Kind),
    bad("a word that begins as an answer does", "ENDED\r\n", Error::Kind),
    bad("a negative number", "-1\r\n", Error::Kind),
    bad("a line feed alone", "END\n", Error::End),
    bad("a value that is longer than it says", "VALUE k 0 2\r\nabc\r\nEND\r\n", Error::End),
    bad("a value that is shorter than it says", "VA 3\r\nab\r\nMN\r\n", Error::End),
    bad("no length", "VALUE k 0\r\n", Error::Number),
    bad("no length of a meta value", "VA \r\n", Error::Number),
    bad("a length that is no number", "VALUE k 0 x\r\n", Error::Number),
    bad("a negative length", "VA -1\r\n", Error::Number),
    bad("a length beyond measure", "VALUE k 0 99999999999999999999\r\n", Error::TooLong),
    bad("a value beyond 1 GiB", "VA 1073741825\r\n", Error::TooLong),
];

/// Bytes of a client and what a server must make of them.
pub struct Asked {
    pub name: &'static str,
    pub bytes: &'static str,
    /// The words of each request, with its value behind `=` and `q` for a quiet one.
    pub told: &'static [&'static str],
    pub error: Option<Error>,
}

const fn asked(name: &'static str, bytes: &'static str, told: &'static [&'static str]) -> Asked {
    Asked { name, bytes, told, error: None }
}

const fn refused(name: &'static str, bytes: &'static str, error: Error) -> Asked {
    Asked { name, bytes, told: &[], error: Some(error) }
}

pub const REQUESTS: &[Asked] = &[
    asked("nothing", "", &[]),
    asked("one key", "get k\r\n", &["get k"]),
    asked("several keys", "get a  bb c \r\nversion\n", &["get a bb c", "version"]),
    asked("an empty line", "\r\n", &[""]),
    asked("a value", "set k 0 60 5\r\nhello\r\n", &["set k 0 60 5 =hello"]),
    asked("an empty value", "add k 0 0 0\r\n\r\n", &["add k 0 0 0 ="]),
    asked("a value like a line", "set k 0 0 7\r\nget x\r\n\r\n", &[r"set k 0 0 7 =get x\r\n"]),
    asked("by its version", "cas k 0 0 1 77\r\nx\r\n", &["cas k 0 0 1 77 =x"]),
    asked("unanswered", "set k 0 0 1 noreply\r\nx\r\n", &["set k 0 0 1 noreply =x q"]),
    asked(
        "keys called so",
        "get q noreply\r\nincr noreply\r\n",
        &["get q noreply", "incr noreply"],
    ),
    asked("counting", "incr k 5\r\ntouch k 0\r\n", &["incr k 5", "touch k 0"]),
    asked("meta get", "mg k v f O9 k\r\n", &["mg k v f O9 k"]),
    asked(
        "meta gets, quiet, and what ends them",
        "mg a v q\r\nmg q v\r\nmn\r\n",
        &["mg a v q q", "mg q v", "mn"],
    ),
    asked("meta set", "ms k 2 T0 q\r\nhi\r\n", &["ms k 2 T0 q =hi q"]),
    asked("meta delete", "md k q\r\n", &["md k q q"]),
    asked("half of one", "set k 0 0 5\r\nhel", &[]),
    refused("no length", "set k 0 0\r\n", Error::Number),
    refused("no length of a meta set", "ms k\r\n", Error::Number),
    refused("a length that is no number", "set k 0 0 x\r\n", Error::Number),
    refused("a value without its end", "set k 0 0 1\r\nxyz\r\n", Error::End),
    refused("a length beyond measure", "ms k 99999999999\r\n", Error::TooLong),
];
