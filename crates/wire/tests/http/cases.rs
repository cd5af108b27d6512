//! The table of cases.

use wire::http::{Error, Kind};

use crate::eat::Ending;

/// Bytes of a server and what a client must make of them once the connection has closed.
pub struct Response {
    pub name: &'static str,
    pub kind: Kind,
    pub bytes: &'static str,
    /// Status, body and whether the connection may be kept.
    pub answers: &'static [(u16, &'static str, bool)],
    pub ending: Ending,
    /// Whether the last answer ends with the connection alone.
    pub until_close: bool,
}

const fn good(
    name: &'static str,
    bytes: &'static str,
    answers: &'static [(u16, &'static str, bool)],
) -> Response {
    let (kind, ending) = (Kind::Other, Ending::Clean);
    Response { name, kind, bytes, answers, ending, until_close: false }
}

const fn bad(name: &'static str, bytes: &'static str, error: Error) -> Response {
    let mut case = good(name, bytes, &[]);
    case.ending = Ending::Broken(error);
    case
}

const fn to_head(mut case: Response) -> Response {
    case.kind = Kind::Head;
    case
}

const fn until_close(mut case: Response) -> Response {
    case.until_close = true;
    case
}

pub const RESPONSES: &[Response] = &[
    good("nothing", "", &[]),
    good("length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &[(200, "hello", true)]),
    good("empty body", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", &[(200, "", true)]),
    good("no phrase", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", &[(200, "x", true)]),
    good(
        "two with the same head",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\
         HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb",
        &[(200, "a", true), (200, "b", true)],
    ),
    good(
        "two with different heads",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\
         HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nbc",
        &[(200, "a", true), (404, "bc", true)],
    ),
    good(
        "close",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
        &[(200, "x", false)],
    ),
    good(
        "close among options",
        "HTTP/1.1 200 OK\r\nConnection: TE, Close\r\nContent-Length: 1\r\n\r\nx",
        &[(200, "x", false)],
    ),
    good("1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", &[(200, "x", false)]),
    good(
        "1.0 kept",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
        &[(200, "x", true)],
    ),
    until_close(good(
        "until close",
        "HTTP/1.1 200 OK\r\n\r\nall of it",
        &[(200, "all of it", false)],
    )),
    until_close(good("until close, empty", "HTTP/1.1 200 OK\r\n\r\n", &[(200, "", false)])),
    until_close(good(
        "other coding",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxyz",
        &[(200, "xyz", false)],
    )),
    good("204", "HTTP/1.1 204 No Content\r\n\r\n", &[(204, "", true)]),
    good(
        "304 with a length",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        &[(304, "", true)],
    ),
    to_head(good(
        "answer to HEAD",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        &[(200, "", true)],
    )),
    to_head(good(
        "chunked answer to HEAD",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        &[(200, "", true)],
    )),
    good(
        "interim answers",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n\
         HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        &[(200, "ok", true)],
    ),
    good(
        "chunked",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
        &[(200, "hello world", true)],
    ),
    good(
        "chunked with extensions, trailer and large digits",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n\
         00A;a=b\r\n0123456789\r\n0 ; x\r\nX-Sum: 1\r\nY: 2\r\n\r\n",
        &[(200, "0123456789", true)],
    ),
    good(
        "the same length twice",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nok",
        &[(200, "ok", true)],
    ),
    bad("garbage", "SSH-2.0-OpenSSH_9.2\r\n", Error::Head(httparse::Error::Version)),
    bad("status of two digits", "HTTP/1.1 20 OK\r\n\r\n", Error::Head(httparse::Error::Status)),
    bad("status below 100", "HTTP/1.1 099 No\r\n\r\n", Error::Head(httparse::Error::Status)),
    bad("upgrade", "HTTP/1.1 101 Switching\r\n\r\n", Error::Upgrade),
    bad("half a head", "HTTP/1.1 200 OK\r\nContent-Le", Error::ClosedWithin),
    bad("half a body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Error::ClosedWithin),
    bad(
        "lengths differ",
        "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok",
        Error::ContentLength,
    ),
    bad("negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Error::ContentLength),
    bad("signed length", "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", Error::ContentLength),
    bad("empty length", "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n", Error::ContentLength),
    bad(
        "length beyond 64 bits",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        Error::ContentLength,
    ),
    bad(
        "huge length",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx",
        Error::ClosedWithin,
    ),
    bad(
        "length and chunks",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        Error::AmbiguousLength,
    ),
    bad(
        "chunks in 1.0",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        Error::AmbiguousLength,
    ),
    bad(
        "chunked twice",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        Error::Chunk,
    ),
    bad(
        "chunk without a size",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;\r\n",
        Error::Chunk,
    ),
    bad(
        "chunk of more than 64 bits",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
        Error::Chunk,
    ),
    bad(
        "chunk longer than it says",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        Error::Chunk,
    ),
    bad(
        "chunk size ended by a line feed alone",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\r\n",
        Error::Chunk,
    ),
    bad(
        "chunks without an end",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
        Error::ClosedWithin,
    ),
];

/// Bytes of a client and what a server must make of them.
pub struct Request {
    pub name: &'static str,
    pub bytes: &'static str,
    /// Body and whether the connection may be kept.
    pub requests: &'static [(&'static str, bool)],
    pub ending: Ending,
}

const fn asked(
    name: &'static str,
    bytes: &'static str,
    requests: &'static [(&'static str, bool)],
) -> Request {
    Request { name, bytes, requests, ending: Ending::Clean }
}

const fn refused(name: &'static str, bytes: &'static str, error: Error) -> Request {
    Request { name, bytes, requests: &[], ending: Ending::Broken(error) }
}

pub const REQUESTS: &[Request] = &[
    asked("get", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &[("", true)]),
    asked("pipelined", "GET / HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n", &[("", true), ("", true)]),
    asked("post", "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", &[("abc", true)]),
    asked(
        "chunked",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        &[("abc", true)],
    ),
    asked("close", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", &[("", false)]),
    asked("1.0", "GET / HTTP/1.0\r\n\r\n", &[("", false)]),
    asked("1.0 kept", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", &[("", true)]),
    asked("half", "GET / HTTP/1.1\r\nHo", &[]),
    refused("no request", "\x16\x03\x01\n", Error::Head(httparse::Error::Token)),
    refused(
        "coding without an end",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        Error::TransferEncoding,
    ),
    refused(
        "smuggling",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        Error::AmbiguousLength,
    ),
];
