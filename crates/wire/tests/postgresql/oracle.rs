//! What is written here is, byte for byte, what another implementation writes.

use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;
use wire::postgresql::{Format, ask};

/// Runs both writers.
fn same(name: &str, ours: impl FnOnce(&mut Vec<u8>), theirs: impl FnOnce(&mut BytesMut)) {
    let (mut own, mut other) = (Vec::new(), BytesMut::new());
    ours(&mut own);
    theirs(&mut other);
    assert_eq!(own, other.to_vec(), "{name}");
}

#[test]
fn requests_are_written_as_another_writes_them() {
    same("ssl", ask::ssl_request, frontend::ssl_request);
    same(
        "startup",
        |out| {
            let settings = [("user", &b"me"[..]), ("database", b"db")];
            ask::startup(settings, out).unwrap();
        },
        |out| {
            let settings = [("user", "me"), ("database", "db")];
            frontend::startup_message(settings, out).unwrap();
        },
    );
    same(
        "password",
        |out| ask::password(b"secret", out).unwrap(),
        |out| frontend::password_message(b"secret", out).unwrap(),
    );
    same(
        "sasl",
        |out| ask::sasl_initial("SCRAM", b"data", out).unwrap(),
        |out| frontend::sasl_initial_response("SCRAM", b"data", out).unwrap(),
    );
    same(
        "sasl response",
        |out| ask::sasl_response(b"data", out),
        |out| frontend::sasl_response(b"data", out).unwrap(),
    );
    same(
        "query",
        |out| ask::query(out, |out| out.extend_from_slice(b"SELECT 1")).unwrap(),
        |out| frontend::query("SELECT 1", out).unwrap(),
    );
    same(
        "parse",
        |out| ask::parse("s", b"SELECT $1", out).unwrap(),
        |out| frontend::parse("s", "SELECT $1", [], out).unwrap(),
    );
    same(
        "describe",
        |out| ask::describe("s", out).unwrap(),
        |out| frontend::describe(b'S', "s", out).unwrap(),
    );
    same("execute", ask::execute, |out| frontend::execute("", 0, out).unwrap());
    same("sync", ask::sync, frontend::sync);
    same(
        "copy data",
        |out| ask::copy_data(out, |out| out.extend_from_slice(b"1\t2\n")),
        |out| frontend::CopyData::new(&b"1\t2\n"[..]).unwrap().write(out),
    );
    same("copy done", ask::copy_done, frontend::copy_done);
    same("terminate", ask::terminate, frontend::terminate);
}

#[test]
fn parameters_are_bound_as_another_binds_them() {
    same(
        "bind",
        |out| {
            let formats = [Format::Binary, Format::Text].into_iter();
            let mut bind = ask::Bind::new("s", formats, out).unwrap();
            bind.parameter(|out| out.extend_from_slice(&7i32.to_be_bytes()));
            bind.parameter(|out| out.extend_from_slice(b"text"));
            bind.finish(&[Format::Binary]);
        },
        |out| {
            let values = [&7i32.to_be_bytes()[..], b"text"];
            let write = |value: &[u8], out: &mut BytesMut| {
                out.extend_from_slice(value);
                Ok(IsNull::No)
            };
            frontend::bind("", "s", [1, 0], values, write, [1], out).map_err(|_| ()).unwrap();
        },
    );
}
