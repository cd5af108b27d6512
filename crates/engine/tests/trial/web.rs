//! What a client of the web does beside asking and taking: cookies, redirects, bodies of any kind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use engine::plan::Plan;
use serde_json::{Value, json};
use wire::http::{RequestEvent, Requests, encode_response, request_line};

use crate::laboratory::{Measured, SECOND, measure, plan};

/// A shop one must log in to, and what its visitors have shown.
#[derive(Default)]
struct Shop {
    sessions: BTreeSet<String>,
    homes: u64,
}

struct Asked {
    head: String,
    body: Vec<u8>,
}

impl Asked {
    fn target(&self) -> &str {
        let (_, target) = request_line(self.head.as_bytes()).unwrap();
        std::str::from_utf8(target).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    fn cookie(&self, name: &str) -> Option<&str> {
        let mut cookies = self.header("Cookie")?.split("; ").filter_map(|c| c.split_once('='));
        cookies.find(|(found, _)| *found == name).map(|(_, value)| value)
    }
}

type Answer = (u16, Vec<(&'static str, String)>, Vec<u8>);

impl Shop {
    fn open() -> (String, Arc<Mutex<Shop>>) {
        let shop = Arc::new(Mutex::new(Shop::default()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let behind = Arc::clone(&shop);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shop = Arc::clone(&behind);
                thread::spawn(move || serve(stream, &shop));
            }
        });
        (address, shop)
    }

    fn answer(&mut self, asked: &Asked) -> Answer {
        let to = |place: &str| vec![("Location", place.to_owned())];
        match asked.target() {
            "/" if asked.cookie("session").is_some() => (302, to("home"), vec![]),
            "/" => {
                let mut headers = to("/login?from=/");
                headers.push(("Set-Cookie", "step=1; Path=/login".to_owned()));
                (302, headers, b"this way".to_vec())
            }
            "/login?from=/" if asked.cookie("step") == Some("1") => {
                let session = format!("s{}", self.sessions.len());
                self.sessions.insert(session.clone());
                let mut headers = to(&format!("http://{}/home", asked.header("Host").unwrap()));
                headers.push(("Set-Cookie", format!("session={session}; Path=/; HttpOnly")));
                (303, headers, vec![])
            }
            "/home" => match asked.cookie("session") {
                Some(session) if self.sessions.contains(session) => {
                    // The cookie of the log-in alone is not for here.
                    assert_eq!(asked.cookie("step"), None);
                    self.homes += 1;
                    (200, vec![], b"home".to_vec())
                }
                _ => (401, vec![], vec![]),
            },
            "/elsewhere" => (301, to("http://127.0.0.1:1/"), vec![]),
            "/round" => (307, to("/round"), vec![]),
            "/bye" => (302, to("/home"), vec![]),
            "/moved" => (308, to("/echo"), vec![]),
            "/echo" => (200, vec![("X-Coding", coding(asked))], asked.body.clone()),
            "/gzip" => {
                // As `gzip` writes no bytes at all; whatever it holds is nobody's business here.
                let body = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0".to_vec();
                (200, vec![("Content-Encoding", "gzip".to_owned())], body)
            }
            _ => (404, vec![], vec![]),
        }
    }
}

fn coding(asked: &Asked) -> String {
    asked.header("Transfer-Encoding").unwrap_or("none").to_owned()
}

fn serve(mut stream: TcpStream, shop: &Mutex<Shop>) {
    let mut requests = Requests::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut asked = Asked { head: String::new(), body: Vec::new() };
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let mut input = &buffer[..count];
        loop {
            match requests.next(&mut input).unwrap() {
                RequestEvent::More => break,
                RequestEvent::Head(head) => {
                    asked.head = String::from_utf8(head.bytes.to_vec()).unwrap();
                }
                RequestEvent::Body(data) => asked.body.extend_from_slice(data),
                RequestEvent::End { .. } => {
                    let (status, headers, body) = shop.lock().unwrap().answer(&asked);
                    let closes = asked.target() == "/bye";
                    let headers = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
                    let mut out = Vec::new();
                    encode_response(status, headers, &body, closes, &mut out).unwrap();
                    asked.body.clear();
                    if stream.write_all(&out).is_err() || closes {
                        return;
                    }
                }
            }
        }
    }
}

/// A trial of forty transactions of four clients, each of which asks this one thing.
fn visit(address: &str, http: &Value, expect: &Value, driver: &Value, keys: &Value) -> Measured {
    let operation = json!({"name": "ask", "request": {"http": http}, "expect": expect});
    let mut plan = plan(
        address,
        json!({
            "schedule": {"closed": {"clients": 4}}, "stop": {"transactions": 40},
            "timeout_ns": 5 * SECOND,
            "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
        }),
    );
    for (key, value) in driver.as_object().unwrap() {
        plan["driver"][key] = value.clone();
    }
    for (key, value) in keys.as_object().unwrap() {
        plan[key] = value.clone();
    }
    measure(&plan)
}

fn get(path: &str) -> Value {
    json!({"method": "GET", "path": path})
}

const BROWSER: fn() -> Value = || json!({"cookies": "keep", "redirects": "follow"});

#[test]
fn a_client_follows_redirects_and_stays_logged_in() {
    for keys in [json!({}), json!({"connection": "new"}), json!({"net": "epoll"})] {
        let (address, shop) = Shop::open();
        let expect = json!({"status": [200], "body": "home", "size": 4});
        let measured = visit(&address, &get("/"), &expect, &BROWSER(), &keys);
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{keys}: {:?}", measured.messages());
        let shop = shop.lock().unwrap();
        assert_eq!((shop.sessions.len(), shop.homes), (4, 40), "{keys}: one log-in a client");
    }
}

#[test]
fn cookies_go_with_requests_that_vary_too() {
    let (address, shop) = Shop::open();
    let mut http = get("/");
    http["headers"] = json!([["X-Id", "${id}"]]);
    let operation = json!({"name": "ask", "request": {"http": http}, "expect": {"body": "home"}});
    let workload = json!({
        "values": {"id": {"uniform": {"low": 1, "high": 9}}},
        "transactions": [{"name": "page", "operations": [operation]}],
    });
    let keys = json!({"workload": workload});
    let measured = visit(&address, &get("/"), &json!({}), &BROWSER(), &keys);
    assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
    assert_eq!(shop.lock().unwrap().sessions.len(), 4);
}

#[test]
fn nothing_is_followed_or_kept_unless_it_is_asked_for() {
    let (address, shop) = Shop::open();
    let left = visit(&address, &get("/"), &json!({"body": "this way"}), &json!({}), &json!({}));
    assert_eq!(left.outcomes(), [40, 0, 0, 0], "{:?}", left.messages());
    // A redirect that is expected is the answer, even where others are followed.
    let expect = json!({"status": [302]});
    let named = visit(&address, &get("/"), &expect, &json!({"redirects": "follow"}), &json!({}));
    assert_eq!(named.outcomes(), [40, 0, 0, 0], "{:?}", named.messages());
    // Without cookies nobody gets in.
    let driver = json!({"redirects": "follow"});
    let stranger = visit(&address, &get("/"), &json!({}), &driver, &json!({}));
    assert_eq!(stranger.outcomes(), [0, 40, 0, 0]);
    assert_eq!(shop.lock().unwrap().homes, 0);
}

#[test]
fn a_redirect_that_cannot_be_followed_is_told() {
    let (address, _) = Shop::open();
    for (path, told) in [
        ("/elsewhere", "a redirect to another host"),
        ("/round", "too many redirects in a row"),
        ("/bye", "a redirect after which the server closed the connection"),
    ] {
        let measured = visit(&address, &get(path), &json!({}), &BROWSER(), &json!({}));
        assert_eq!(measured.outcomes(), [0, 40, 0, 0], "{path}: {:?}", measured.messages());
        assert!(measured.messages().contains(told), "{path}: {:?}", measured.messages());
    }
}

#[test]
fn a_body_is_sent_from_a_file_whole_or_in_chunks() {
    let (address, _) = Shop::open();
    // Bytes that are no text, and what would be a mention if it were one.
    let bytes = [&[0xff, 0, 0x80][..], b"${id}", &vec![b'x'; 100_000]].concat();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let (size, mention) = (bytes.len(), "$${id}");
    for (chunk_bytes, coding) in [(json!(null), "none"), (json!(4096), "chunked")] {
        for path in ["/echo", "/moved"] {
            let http = json!({
                "method": "POST", "path": path, "body_file": file.path(),
                "chunk_bytes": chunk_bytes,
            });
            let expect = json!({
                "headers": [["X-Coding", coding]], "size": size, "contains": mention,
            });
            let measured = visit(&address, &http, &expect, &BROWSER(), &json!({}));
            assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{path}: {:?}", measured.messages());
        }
    }
}

#[test]
fn a_body_has_the_size_it_comes_with() {
    let (address, _) = Shop::open();
    let asks = |size: Value| {
        visit(&address, &get("/gzip"), &json!({"size": size}), &json!({}), &json!({}))
    };
    for size in [json!(20), json!({"low": 1, "high": 20})] {
        let measured = asks(size);
        assert_eq!(measured.outcomes(), [40, 0, 0, 0], "{:?}", measured.messages());
    }
    for size in [json!(0), json!({"low": 21, "high": 99})] {
        let measured = asks(size);
        assert_eq!(measured.outcomes(), [0, 40, 0, 0]);
        assert!(measured.messages().contains("the body has 20 bytes"), "{:?}", measured.messages());
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |driver: Value, http: Value, keys: Value| {
        let operation = json!({"name": "ask", "request": {"http": http}});
        let mut plan = plan(
            "127.0.0.1:9",
            json!({
                "schedule": {"closed": {"clients": 4}}, "stop": {"transactions": 40},
                "workload": {"transactions": [{"name": "page", "operations": [operation]}]},
            }),
        );
        for (key, value) in driver.as_object().unwrap() {
            plan["driver"][key] = value.clone();
        }
        for (key, value) in keys.as_object().unwrap() {
            plan[key] = value.clone();
        }
        match Plan::read(&plan.to_string()) {
            Err(error) => error.to_string(),
            Ok(_) => engine::check(&plan.to_string()).unwrap_err().to_string(),
        }
    };
    let with = |key: &str, value: Value| {
        let mut http = get("/");
        http[key] = value;
        http
    };
    let none = || json!({});
    let file = || with("body_file", json!("/nowhere"));
    for (told, error) in [
        ("pipeline", refused(BROWSER(), get("/"), json!({"pipeline": 2}))),
        ("keep", refused(json!({"cookies": "eat"}), get("/"), none())),
        ("send them", refused(BROWSER(), with("headers", json!([["cookie", "a=1"]])), none())),
        ("no body to send", refused(none(), with("chunk_bytes", json!(5)), none())),
        ("cannot be read", refused(none(), file(), none())),
    ] {
        assert!(error.contains(told), "{told}: {error}");
    }
}
