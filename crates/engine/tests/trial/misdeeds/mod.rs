//! Servers that misbehave: each outcome is counted as what it was, and nothing panics or hangs.
//!
//! What a server does wrong is a row of a table, one table a protocol; here is what they share.

mod http;
mod ldap;
mod memcached;
mod redis;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use serde_json::{Value, json};
use tally::{Counter, Kind};

use crate::laboratory::{MILLISECOND, Measured, SECOND, measure, measure_each, plan, simulated};

/// A protocol, as far as a server that misbehaves must know it.
#[derive(Clone, Copy)]
struct Protocol {
    /// The keys of a Plan, driver and workload, against the server of this address.
    keys: fn(&str) -> Value,
    /// What a server does before the first request, as a log-in; `None` when the client has closed.
    open: fn(&mut TcpStream) -> Option<()>,
    /// Reads a request; `None` when the client has closed.
    request: fn(&mut TcpStream) -> Option<()>,
}

/// A server whose connections are each handed to `behave`; its threads end with the test's process
/// or when the client closes.
pub fn server(behave: impl Fn(TcpStream) + Send + Sync + Copy + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || behave(stream));
        }
    });
    address
}

pub fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the descriptor is open and `linger` is a valid linger of the size given.
    let status = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(status, 0);
}

pub const CLOSED: fn() -> Value = || json!({"closed": {"clients": 2}});
pub const OPEN: fn() -> Value = || {
    json!({"open": {"connections": 6, "shape": [
        {"from_per_second": 1000, "to_per_second": 1000, "length_ns": SECOND}]}})
};

/// What the keys of two objects are together.
fn with(mut keys: Value, more: Value) -> Value {
    if let (Value::Object(keys), Value::Object(more)) = (&mut keys, more) {
        keys.extend(more);
    }
    keys
}

impl Protocol {
    /// A server that answers each request with these bytes and leaves the connection open.
    fn answering(self, bytes: &'static [u8]) -> String {
        server(move |mut stream| {
            if (self.open)(&mut stream).is_none() {
                return;
            }
            while (self.request)(&mut stream).is_some() && stream.write_all(bytes).is_ok() {}
        })
    }

    /// A server that answers the first request with these bytes and closes.
    fn closing(self, bytes: &'static [u8]) -> String {
        server(move |mut stream| {
            if (self.open)(&mut stream).and_then(|()| (self.request)(&mut stream)).is_some() {
                let _client_may_be_gone = stream.write_all(bytes);
            }
        })
    }

    /// A server that resets the connection on the first request.
    fn resetting(self) -> String {
        server(move |mut stream| {
            if (self.open)(&mut stream).and_then(|()| (self.request)(&mut stream)).is_some() {
                reset(&stream);
            }
        })
    }

    /// A server that answers byte by byte.
    fn dripping(self, bytes: &'static [u8]) -> String {
        server(move |mut stream| {
            stream.set_nodelay(true).unwrap();
            if (self.open)(&mut stream).is_none() {
                return;
            }
            while (self.request)(&mut stream).is_some() {
                for byte in bytes {
                    if stream.write_all(&[*byte]).is_err() {
                        return;
                    }
                }
            }
        })
    }

    /// A server that says these bytes before any request, and nothing after.
    fn eager(self, bytes: &'static [u8]) -> String {
        server(move |mut stream| {
            if (self.open)(&mut stream).is_some() {
                let _client_may_be_gone = stream.write_all(bytes);
                while (self.request)(&mut stream).is_some() {}
            }
        })
    }

    /// Six transactions against the server, by each schedule and provider, within 100 ms each.
    fn against(self, address: &str) -> Vec<Measured> {
        let schedules = [CLOSED(), OPEN()];
        let trial = |schedule| {
            let keys = json!({
                "schedule": schedule, "stop": {"transactions": 6},
                "timeout_ns": 100 * MILLISECOND,
            });
            measure_each(&plan(address, with((self.keys)(address), keys)))
        };
        schedules.into_iter().flat_map(trial).collect()
    }

    /// The outcomes (ok, failed, timed out, unknown) and what the first message says.
    fn expect(self, name: &str, address: &str, outcomes: [u64; 4], message: &str) {
        for measured in self.against(address) {
            assert_eq!(measured.outcomes(), outcomes, "{name}: {:?}", measured.messages());
            let messages = measured.messages();
            let told = messages.iter().any(|text| text.contains(message));
            assert!(told || message.is_empty(), "{name}: {messages:?}");
            assert_eq!(measured.open(), 0, "{name}");
        }
    }

    /// Bytes that no request asked for are noticed, and end their connection.
    fn expect_eager(self, bytes: &'static [u8]) {
        for measured in self.against(&self.eager(bytes)) {
            let messages = measured.messages();
            assert!(messages.iter().any(|m| m.contains("nobody asked for")), "{messages:?}");
            assert_eq!(measured.outcomes().iter().sum::<u64>() + measured.open(), 6);
        }
    }
}

/// Outcomes of 30 transactions in the simulator, one of each misdeed among them.
fn simulated_misdeeds(keys: &Value) {
    let sim = json!({
        "service": {"constant_ns": MILLISECOND}, "latency_ns": 100_000,
        "misdeeds": {"2": "close", "5": "cut", "8": "garbage", "11": "silence", "14": "error"},
    });
    for schedule in [CLOSED(), OPEN()] {
        let load = json!({
            "schedule": schedule, "stop": {"transactions": 30}, "timeout_ns": SECOND,
        });
        let measured = measure(&simulated(&sim, with(keys.clone(), load)));
        assert_eq!(measured.outcomes(), [25, 2, 1, 2], "{:?}", measured.messages());
        assert_eq!(measured.messages().len(), 5);
        let longest = measured.count(Kind::Transaction, "page", Counter::MaxService);
        assert!(longest < SECOND, "what timed out is among the successes");
    }
}
