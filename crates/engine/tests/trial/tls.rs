//! Encrypted connections, with a server that has a certificate of its own.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use tally::{Counter, Kind};

use crate::laboratory::{Measured, NullServer, SECOND, measure, plan};

/// The address of a server for `localhost`, and its certificate as PEM. Each answer is `big`.
fn server(big: usize) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("localhost:{}", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || answer(StreamOwned::new(session, socket), big));
        }
    });
    (address, made.cert.pem())
}

fn answer(mut stream: impl Read + Write, big: usize) {
    let mut input = Vec::new();
    let mut byte = [0];
    while matches!(stream.read(&mut byte), Ok(1)) {
        input.push(byte[0]);
        if input.ends_with(b"\r\n\r\n") {
            input.clear();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {big}\r\n\r\n");
            let whole = [head.as_bytes(), &vec![b'x'; big]].concat();
            if stream.write_all(&whole).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}

fn trial(address: &str, tls: &Value, keys: &Value) -> Measured {
    let mut plan = plan(
        address,
        json!({
            "schedule": {"closed": {"clients": 4}}, "stop": {"transactions": 40},
            "timeout_ns": 2 * SECOND, "tls": tls,
        }),
    );
    plan["driver"]["targets"] = json!([format!("https://{address}")]);
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    measure(&plan)
}

#[test]
fn an_encrypted_server_answers_whoever_trusts_its_certificate() {
    let (address, certificate) = server(100_000);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate).unwrap();
    for tls in [json!({"ca": file.path()}), json!({"verify": false})] {
        let measured = trial(&address, &tls, &json!({}));
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
        assert!(measured.count(Kind::Transaction, "page", Counter::BytesIn) >= 40 * 100_000);
    }
    let pipelined = json!({"pipeline": 4});
    let measured = trial(&address, &json!({"verify": false}), &pipelined);
    assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
    let fresh = json!({"connection": "new"});
    let measured = trial(&address, &json!({"verify": false}), &fresh);
    assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
}

#[test]
fn a_certificate_that_nobody_trusts_is_told() {
    let (address, _) = server(1);
    let measured = trial(&address, &json!({}), &json!({"stop": {"duration_ns": SECOND / 4}}));
    let [ok, failed, timed_out, unknown] = measured.outcomes();
    assert!(failed > 0 && (ok, timed_out, unknown) == (0, 0, 0), "{:?}", measured.outcomes());
    let told = measured.messages();
    assert!(told.iter().any(|text| text.contains("TLS: invalid peer certificate")), "{told:?}");
}

#[test]
fn a_server_that_does_not_encrypt_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _client_may_be_gone = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let measured = trial(&address, &json!({}), &json!({"stop": {"duration_ns": SECOND / 4}}));
    let [ok, failed, ..] = measured.outcomes();
    assert!(ok == 0 && failed > 0, "{:?}", measured.outcomes());
    let told = measured.messages();
    assert!(told.iter().any(|text| text.contains("TLS:")), "{told:?}");
}

#[test]
fn the_null_server_encrypts_what_it_says_in_plain_otherwise() {
    let server = NullServer::start(&["--tls", "--body-bytes", "200000"]);
    for keys in [json!({}), json!({"pipeline": 4}), json!({"connection": "new"})] {
        let measured = trial(&server.address, &json!({"verify": false}), &keys);
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{keys}: {:?}", measured.messages());
        // The head names the length, and the connection's end where it is one.
        let bytes = measured.count(Kind::Transaction, "page", Counter::BytesIn);
        assert!((40 * 200_040..40 * 200_080).contains(&bytes), "{keys}: {bytes}");
    }
    let plain = json!({
        "driver": {"kind": "http", "targets": [format!("http://{}", server.address)]},
        "stop": {"duration_ns": SECOND / 4},
    });
    let [ok, _, _, unknown] = trial(&server.address, &json!({}), &plain).outcomes();
    assert!(ok == 0 && unknown > 0, "it answers whoever does not encrypt");
}

#[test]
fn every_protocol_is_encrypted_where_it_wants_to_be() {
    let rows = [
        ("ldap", "ldaps", json!({"ldap": {"search": {"base": ""}}})),
        ("memcached", "memcacheds", json!({"command": ["get", "k"]})),
        ("mysql", "mysqls", json!({"sql": "SELECT 1"})),
        ("postgresql", "postgresqls", json!({"sql": "SELECT 1"})),
        ("redis", "rediss", json!({"command": ["GET", "k"]})),
    ];
    for (protocol, scheme, request) in rows {
        let server = NullServer::speaking(protocol, &["--tls"]);
        let mut driver =
            json!({"kind": protocol, "targets": [format!("{scheme}://{}", server.address)]});
        if ["mysql", "postgresql"].contains(&protocol) {
            driver["user"] = json!("u");
        }
        let operation = json!({"name": "one", "request": request});
        let keys = json!({
            "driver": driver,
            "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
        });
        let measured = trial(&server.address, &json!({"verify": false}), &keys);
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{protocol}: {:?}", measured.messages());
    }
}
