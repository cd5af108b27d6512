//! What a server says, written at the end of a buffer.

use super::{ber, tag};

/// An entry that a search has found, and its attributes with their values.
pub fn entry<'a, V: AsRef<[&'a [u8]]>>(
    number: u32,
    name: &[u8],
    attributes: impl IntoIterator<Item = (&'a [u8], V)>,
    out: &mut Vec<u8>,
) {
    message(number, tag::ENTRY, out, |out| {
        ber::element(tag::OCTETS, name, out);
        let all = ber::begin(tag::SEQUENCE, out);
        for (attribute, values) in attributes {
            let one = ber::begin(tag::SEQUENCE, out);
            ber::element(tag::OCTETS, attribute, out);
            let set = ber::begin(tag::SET, out);
            for value in values.as_ref() {
                ber::element(tag::OCTETS, value, out);
            }
            ber::end(set, out);
            ber::end(one, out);
        }
        ber::end(all, out);
    });
}

/// Where a search would go on.
pub fn reference(number: u32, addresses: &[&[u8]], out: &mut Vec<u8>) {
    message(number, tag::REFERENCE, out, |out| {
        for address in addresses {
            ber::element(tag::OCTETS, address, out);
        }
    });
}

/// How a request ended, by the kind of message that says so, [`super::Asked::answered_by`].
pub fn outcome(kind: u8, number: u32, code: u32, text: &str, out: &mut Vec<u8>) {
    message(number, kind, out, |out| ending(code, text, out));
}

/// A notice that the connection will be closed.
pub fn disconnection(code: u32, text: &str, out: &mut Vec<u8>) {
    message(0, tag::EXTENSION, out, |out| {
        ending(code, text, out);
        ber::element(tag::RESPONSE_NAME, super::DISCONNECTION, out);
    });
}

fn ending(code: u32, text: &str, out: &mut Vec<u8>) {
    ber::number(tag::ENUMERATED, code, out);
    ber::element(tag::OCTETS, b"", out);
    ber::element(tag::OCTETS, text.as_bytes(), out);
}

fn message(number: u32, kind: u8, out: &mut Vec<u8>, inside: impl FnOnce(&mut Vec<u8>)) {
    let whole = ber::begin(tag::SEQUENCE, out);
    ber::number(tag::INTEGER, number, out);
    let operation = ber::begin(kind, out);
    inside(out);
    ber::end(operation, out);
    ber::end(whole, out);
}
