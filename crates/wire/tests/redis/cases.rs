//! The table of cases.

use wire::redis::Error;

use crate::eat::Ending;

/// Bytes of a server and what a client must make of them.
pub struct Case {
    pub name: &'static str,
    pub bytes: &'static str,
    /// Type, rows and scalars of each reply.
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

pub const REPLIES: &[Case] = &[
    good("nothing", "", &[]),
    good("a status", "+OK\r\n", &["Status 1: Status(OK)"]),
    good("an empty status", "+\r\n", &["Status 1: Status()"]),
    good("an error", "-ERR no\r\n", &["Error 1: Error(ERR no) failed: ERR no"]),
    good("a long error", "!6\r\nERR\r\nx\r\n", &[r"Error 1: Error(ERR\r\nx) failed: ERR\r\nx"]),
    good("an integer", ":-42\r\n", &["Integer 1: Integer(-42)"]),
    good(
        "a big number",
        "(99999999999999999999999\r\n",
        &["Integer 1: Integer(99999999999999999999999)"],
    ),
    good("a string", "$5\r\nhello\r\n", &["String 1: String(hello)"]),
    good("an empty string", "$0\r\n\r\n", &["String 1: String()"]),
    good("a string with line ends", "$6\r\n$1\r\nx\n\r\n", &[r"String 1: String($1\r\nx\n)"]),
    good("a verbatim string", "=8\r\ntxt:some\r\n", &["String 1: String(txt:some)"]),
    good("no string", "$-1\r\n", &["Null 0: Null()"]),
    good("no array", "*-1\r\n", &["Null 0: Null()"]),
    good("null", "_\r\n", &["Null 0: Null()"]),
    good("a real number", ",3.25\r\n", &["Double 1: Double(3.25)"]),
    good("infinity", ",-inf\r\n", &["Double 1: Double(-inf)"]),
    good("true and false", "#t\r\n#f\r\n", &["Boolean 1: Boolean(t)", "Boolean 1: Boolean(f)"]),
    good("an empty array", "*0\r\n", &["Array 0:"]),
    good(
        "an array of strings, one missing",
        "*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n",
        &["Array 2: String(a) Null() String(bc)"],
    ),
    good(
        "arrays within an array",
        "*2\r\n*2\r\n:1\r\n*0\r\n*-1\r\n",
        &["Array 1: Integer(1) Null()"],
    ),
    good("a set", "~2\r\n+a\r\n+b\r\n", &["Array 2: Status(a) Status(b)"]),
    good(
        "a map",
        "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",
        &["Map 2: Status(a) Integer(1) Status(b) Integer(2)"],
    ),
    good("an empty map", "%0\r\n", &["Map 0:"]),
    good(
        "a failure within a transaction",
        "*2\r\n+OK\r\n-WRONGTYPE no\r\n",
        &["Array 2: Status(OK) Error(WRONGTYPE no) failed: WRONGTYPE no"],
    ),
    good(
        "a push between replies",
        ":1\r\n>2\r\n+invalidate\r\n*1\r\n+k\r\n:2\r\n",
        &["Integer 1: Integer(1)", "Push 2: Status(invalidate) Status(k)", "Integer 1: Integer(2)"],
    ),
    good("an attribute", "|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n", &["String 1: String(x)"]),
    good(
        "attributes of elements",
        "*2\r\n|1\r\n+a\r\n-b\r\n:1\r\n|2\r\n+c\r\n*1\r\n+d\r\n+e\r\n%0\r\n:2\r\n",
        &["Array 2: Integer(1) Integer(2)"],
    ),
    good(
        "an attribute of an attribute",
        "|1\r\n|1\r\n+a\r\n+b\r\n+c\r\n+d\r\n:1\r\n",
        &["Integer 1: Integer(1)"],
    ),
    good("an empty attribute", "|0\r\n:1\r\n", &["Integer 1: Integer(1)"]),
    good(
        "32 levels less one",
        concat!(
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n:1\r\n",
        ),
        &["Array 1: Integer(1)"],
    ),
    good(
        "a slot that has moved, and one that is being moved",
        "-MOVED 3999 127.0.0.1:6381\r\n-ASK 16383 ::1:7000\r\n-MOVED 0 :7000\r\n",
        &[
            "Error 1: Error(MOVED 3999 127.0.0.1:6381) failed: MOVED 3999 127.0.0.1:6381 \
             elsewhere: 3999 at 127.0.0.1 6381",
            "Error 1: Error(ASK 16383 ::1:7000) failed: ASK 16383 ::1:7000 \
             elsewhere: 16383 at ::1 7000 once",
            "Error 1: Error(MOVED 0 :7000) failed: MOVED 0 :7000 elsewhere: 0 at  7000",
        ],
    ),
    good(
        "errors that send nobody elsewhere",
        "-MOVED 16384 a:1\r\n-MOVED 1 a\r\n-MOVED 1 a:70000\r\n-ASK\r\n-MOVED 1\r\n",
        &[
            "Error 1: Error(MOVED 16384 a:1) failed: MOVED 16384 a:1",
            "Error 1: Error(MOVED 1 a) failed: MOVED 1 a",
            "Error 1: Error(MOVED 1 a:70000) failed: MOVED 1 a:70000",
            "Error 1: Error(ASK) failed: ASK",
            "Error 1: Error(MOVED 1) failed: MOVED 1",
        ],
    ),
    good(
        "slots, one range with a replica and one with a name beside",
        concat!(
            "*2\r\n*4\r\n:0\r\n:5\r\n*4\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n*0\r\n",
            "*4\r\n$1\r\nb\r\n:2\r\n$2\r\nid\r\n*0\r\n",
            "*3\r\n:6\r\n:6\r\n*4\r\n$-1\r\n:3\r\n$2\r\nid\r\n",
            "*2\r\n$8\r\nhostname\r\n$1\r\nh\r\n",
        ),
        &["Array 2: Integer(0) Integer(5) String(a) Integer(1) String(id) String(b) Integer(2) \
           String(id) Integer(6) Integer(6) Null() Integer(3) String(id) String(hostname) \
           String(h) slots: 0 to 5 at a 1 slots: 6 to 6 at  3"],
    ),
    good(
        "slots that are none",
        "*4\r\n:9\r\n:5\r\n+a\r\n:1\r\n*4\r\n:0\r\n:16384\r\n+a\r\n:1\r\n",
        &[
            "Array 4: Integer(9) Integer(5) Status(a) Integer(1)",
            "Array 4: Integer(0) Integer(16384) Status(a) Integer(1)",
        ],
    ),
    torn("half a string", "$5\r\nhel", &[]),
    torn("a string without its end", "+OK\r\n$5\r\nhello\r", &["Status 1: Status(OK)"]),
    torn("half a header", "*2\r\n:1\r\n$1", &[]),
    torn("an array with too few elements", "*3\r\n:1\r\n:2\r\n", &[]),
    torn("an attribute of nothing", "|1\r\n+a\r\n+b\r\n", &[]),
    torn("a length that is believed until it is too much", "$536870912\r\nx", &[]),
    torn("a great array", "*536870912\r\n:1\r\n", &[]),
    bad("garbage", "HTTP/1.1 200 OK\r\n", Error::Type(b'H')),
    bad("an empty line", "\r\n", Error::Type(b'\r')),
    bad("a line feed alone", "+OK\n", Error::End),
    bad("a string that is longer than it says", "$2\r\nabc\r\n", Error::End),
    bad("a string that is shorter than it says", "$3\r\nab\r\n$1\r\nx\r\n", Error::End),
    bad("no length", "$\r\n", Error::Number),
    bad("a length that is no number", "$1x\r\n", Error::Number),
    bad("a negative length", "$-2\r\n", Error::Number),
    bad("an array of less than nothing", "*-2\r\n", Error::Number),
    bad("no pairs", "%-1\r\n", Error::Number),
    bad("a streamed string", "$?\r\n", Error::Number),
    bad("a length beyond measure", "$99999999999999999999\r\n", Error::TooLong),
    bad("a value beyond 512 MiB", "$536936449\r\n", Error::TooLong),
    bad("an array beyond measure", "*99999999999999999999\r\n", Error::TooLong),
    bad("an integer that is none", ":1.5\r\n", Error::Number),
    bad("neither true nor false", "#x\r\n", Error::Number),
    bad("null with something", "_x\r\n", Error::Number),
    bad(
        "32 levels",
        concat!(
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
            "*1\r\n*1\r\n:1\r\n",
        ),
        Error::TooDeep,
    ),
    bad("garbage within an array", "*2\r\n:1\r\n\x16\x03\x01\r\n", Error::Type(0x16)),
];

/// Bytes of a client and what a server must make of them.
pub struct Asked {
    pub name: &'static str,
    pub bytes: &'static str,
    /// The words of each command.
    pub told: &'static [&'static str],
    pub error: Option<Error>,
}

const fn asked(name: &'static str, bytes: &'static str, told: &'static [&'static str]) -> Asked {
    Asked { name, bytes, told, error: None }
}

const fn refused(name: &'static str, bytes: &'static str, error: Error) -> Asked {
    Asked { name, bytes, told: &[], error: Some(error) }
}

pub const COMMANDS: &[Asked] = &[
    asked("nothing", "", &[]),
    asked("two", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n", &["GET k", "PING"]),
    asked("an empty value", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", &["ECHO "]),
    asked("no words", "*0\r\n", &[""]),
    asked("on a line", "SET a  b\r\nPING\n", &["SET a b", "PING"]),
    asked("a line and an array", "PING\r\n*1\r\n$4\r\nPING\r\n\r\n", &["PING", "PING", ""]),
    asked("half of one", "*2\r\n$3\r\nGET\r\n", &[]),
    refused("a word that is a number", "*2\r\n$3\r\nGET\r\n:1\r\n", Error::Request),
    refused("an array for a word", "*1\r\n*1\r\n$4\r\nPING\r\n", Error::Request),
    refused("no array", "*-1\r\n", Error::Request),
    refused("a length beyond measure", "*1\r\n$99999999999\r\n", Error::TooLong),
];
