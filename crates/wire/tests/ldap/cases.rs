//! The table of cases: bytes in hexadecimal, blanks between, and what they mean.

use wire::frames::TooLong;
use wire::ldap::Error;

use crate::eat::Ending;

/// Bytes of one side and what the other must make of them.
pub struct Case {
    pub name: &'static str,
    /// Hexadecimal digits; text stands in quotes.
    pub bytes: &'static str,
    pub told: &'static [&'static str],
    pub ending: Ending,
}

impl Case {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in self.bytes.split_whitespace() {
            match word.strip_prefix('\'') {
                Some(text) => bytes.extend(text.as_bytes()),
                None => bytes.push(u8::from_str_radix(word, 16).unwrap()),
            }
        }
        bytes
    }
}

const fn good(name: &'static str, bytes: &'static str, told: &'static [&'static str]) -> Case {
    Case { name, bytes, told, ending: Ending::Clean }
}

const fn torn(name: &'static str, bytes: &'static str) -> Case {
    Case { name, bytes, told: &[], ending: Ending::Waiting }
}

const fn bad(name: &'static str, bytes: &'static str, error: Error) -> Case {
    Case { name, bytes, told: &[], ending: Ending::Broken(error) }
}

pub const REPLIES: &[Case] = &[
    good("nothing", "", &[]),
    good(
        "a search that is over",
        "30 0c 02 01 02 65 07 0a 01 00 04 00 04 00",
        &["2 done 0 success () ()"],
    ),
    good(
        "an entry and its end",
        "30 1e 02 01 02 64 19 04 06 'uid=17 30 0f 30 0d 04 03 'uid 31 06 04 02 '17 04 00 \
         30 0c 02 01 02 65 07 0a 01 00 04 00 04 00",
        &["2 entry uid=17 [uid: 17|]", "2 done 0 success () ()"],
    ),
    good("an entry of no attributes", "30 0a 02 01 02 64 05 04 01 'x 30 00", &["2 entry x"]),
    good(
        "an attribute of no values",
        "30 11 02 01 02 64 0c 04 01 'x 30 07 30 05 04 01 'u 31 00",
        &["2 entry x [u: ]"],
    ),
    good(
        "lengths in as many bytes as they like",
        "30 84 00 00 00 17 02 01 7f 65 84 00 00 00 0e 0a 01 20 04 03 'o=x 04 82 00 02 'no",
        &["127 done 32 noSuchObject (o=x) (no)"],
    ),
    good(
        "a great number",
        "30 0f 02 04 7f ff ff ff 65 07 0a 01 33 04 00 04 00",
        &["2147483647 done 51 busy () ()"],
    ),
    good(
        "a bind",
        "30 0c 02 01 01 61 07 0a 01 31 04 00 04 00",
        &["1 bound 49 invalidCredentials () ()"],
    ),
    good(
        "a bind with what SASL says",
        "30 0e 02 01 01 61 09 0a 01 0e 04 00 04 00 87 00",
        &["1 bound 14 saslBindInProgress () ()"],
    ),
    good(
        "a referral",
        "30 16 02 01 03 67 11 0a 01 0a 04 00 04 00 a3 08 04 06 'ldap:/",
        &["3 modified 10 referral () () at ldap:/"],
    ),
    good(
        "an addition",
        "30 0c 02 01 04 69 07 0a 01 44 04 00 04 00",
        &["4 added 68 entryAlreadyExists () ()"],
    ),
    good("a deletion", "30 0c 02 01 05 6b 07 0a 01 00 04 00 04 00", &["5 deleted 0 success () ()"]),
    good(
        "a reference among entries",
        "30 0d 02 01 02 73 08 04 02 'a: 04 02 'b:",
        &["2 reference a:|b:"],
    ),
    good(
        "an extended response",
        "30 12 02 01 01 78 0d 0a 01 00 04 00 04 00 8a 04 '1.36",
        &["1 extended 0 success () () 1.36"],
    ),
    good(
        "controls behind it",
        "30 14 02 01 01 61 07 0a 01 00 04 00 04 00 a0 06 30 04 04 02 '1.",
        &["1 bound 0 success () ()"],
    ),
    good("something in between", "30 07 02 01 02 79 02 81 00", &["2 intermediate"]),
    good(
        "a code that has no name",
        "30 0d 02 01 02 65 08 0a 02 10 00 04 00 04 00",
        &["2 done 4096  () ()"],
    ),
    torn("the first byte", "30"),
    torn("half a length", "30 82 01"),
    torn("all but the last byte", "30 0c 02 01 02 65 07 0a 01 00 04 00 04"),
    torn("a length that is not reached", "30 83 10 00 00 02 01"),
    bad("garbage", "'HTTP/1.1", Error::Type(b'H')),
    bad("a length without end", "30 80 02 01 02", Error::Length),
    bad("a length of nine bytes", "30 89 00 00 00 00 00 00 00 00 01", Error::Length),
    bad(
        "a length beyond measure",
        "30 88 ff ff ff ff ff ff ff ff",
        Error::TooLong(TooLong { bytes: usize::MAX }),
    ),
    bad("an empty message", "30 00", Error::Malformed),
    bad("no number", "30 05 65 03 0a 01 00", Error::Malformed),
    bad("a number below nothing", "30 0c 02 01 80 65 07 0a 01 00 04 00 04 00", Error::Malformed),
    bad("an empty number", "30 0b 02 00 65 07 0a 01 00 04 00 04 00", Error::Malformed),
    bad(
        "a number of five bytes",
        "30 10 02 05 01 00 00 00 00 65 07 0a 01 00 04 00 04 00",
        Error::Malformed,
    ),
    bad("a number and no more", "30 03 02 01 02", Error::Malformed),
    bad(
        "an element longer than its message",
        "30 0c 02 01 02 65 08 0a 01 00 04 00 04 00",
        Error::Malformed,
    ),
    bad(
        "something behind the operation",
        "30 0e 02 01 02 65 07 0a 01 00 04 00 04 00 04 00",
        Error::Malformed,
    ),
    bad("an outcome cut short", "30 0a 02 01 02 65 05 0a 01 00 04 00", Error::Malformed),
    bad("a code of another kind", "30 0c 02 01 02 65 07 02 01 00 04 00 04 00", Error::Malformed),
    bad("a request", "30 05 02 01 03 42 00", Error::Operation(0x42)),
    bad("an unknown operation", "30 05 02 01 03 7e 00", Error::Operation(0x7e)),
    bad("a tag of several bytes", "30 06 02 01 03 7f 01 00", Error::Malformed),
    bad(
        "values that are no texts",
        "30 12 02 01 02 64 0d 04 01 'x 30 08 30 06 04 01 'u 31 01 04",
        Error::Malformed,
    ),
    bad("an attribute that is none", "30 0c 02 01 02 64 07 04 01 'x 30 02 04 00", Error::Malformed),
    bad("an entry without a list", "30 08 02 01 02 64 03 04 01 'x", Error::Malformed),
];

pub const REQUESTS: &[Case] = &[
    good("a bind as nobody", "30 0c 02 01 01 60 07 02 01 03 04 00 80 00", &[r#"1 bind  Some("")"#]),
    good(
        "a bind by name",
        "30 10 02 01 01 60 0b 02 01 03 04 03 'o=x 80 01 's",
        &[r#"1 bind o=x Some("s")"#],
    ),
    good("a bind by SASL", "30 0e 02 01 01 60 09 02 01 03 04 00 a3 02 04 00", &["1 bind  None"]),
    good("a farewell", "30 05 02 01 03 42 00", &["3 unbind"]),
    good(
        "a search for one",
        "30 26 02 01 02 63 21 04 03 'o=x 0a 01 00 0a 01 00 02 01 00 02 01 00 01 01 00 \
         87 01 'c 30 08 04 03 'uid 04 01 'v",
        &["2 search o=x None uid|v"],
    ),
    good(
        "a search for several",
        "30 2d 02 01 02 63 28 04 00 0a 01 02 0a 01 00 02 01 00 02 01 00 01 01 00 \
         a1 13 a3 06 04 01 'u 04 01 '1 a2 03 87 01 'c a0 04 a1 02 a0 00 30 00",
        &["2 search  Some(3) "],
    ),
    good(
        "a modification",
        "30 1a 02 01 02 66 15 04 03 'o=x 30 0e 30 0c 0a 01 02 30 07 04 01 'v 31 02 04 00",
        &["2 modify o=x"],
    ),
    good(
        "an addition",
        "30 13 02 01 02 68 0e 04 01 'x 30 09 30 07 04 01 'v 31 02 04 00",
        &["2 add x [v: ]"],
    ),
    good("a deletion", "30 08 02 01 02 4a 03 'o=x", &["2 delete o=x"]),
    good("second thoughts", "30 06 02 01 02 50 01 01", &["2 abandon"]),
    good("an extended request", "30 09 02 01 02 77 04 80 02 '1.", &["2 extended 1."]),
    good("a comparison", "30 05 02 01 02 6e 00", &["2 other 0x6e"]),
    bad(
        "a filter that is none",
        "30 1f 02 01 02 63 1a 04 00 0a 01 02 0a 01 00 02 01 00 02 01 00 01 01 00 \
         04 05 '12345 30 00",
        Error::Malformed,
    ),
    bad("an answer", "30 0c 02 01 02 65 07 0a 01 00 04 00 04 00", Error::Operation(0x65)),
    bad("garbage", "'GET", Error::Type(b'G')),
];
