//! The real providers by themselves: connections, bytes and deadlines, over both of them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use base::clock::{Clock, monotonic_ns};
use base::{Instant, Nanos};
use engine::net::epoll::Epoll;
use engine::net::uring::{self, Uring};
use engine::net::waiting::Waiting;
use engine::net::{Address, Event, Fault, Handler, Io, Link, Net};

const LONGEST: Nanos = Nanos(30_000_000_000);

/// A test of any provider, given how to make one of so many connections.
trait Test {
    fn run<N: Net>(&self, make: impl Fn(&[Address], u32) -> N);
}

/// Runs a test with each provider this machine has, waiting in each way.
fn with_each(test: &impl Test) {
    let clock = Clock { origin_monotonic_ns: monotonic_ns() };
    for waiting in [Waiting::Sleep, Waiting::SpinThenSleep] {
        test.run(|to, links| Epoll::new(clock, to, links, waiting).unwrap());
        match uring::probe(1, waiting) {
            Ok(()) => test.run(|to, links| Uring::new(clock, to, links, waiting).unwrap()),
            Err(why) => eprintln!("without io_uring: {why}"),
        }
    }
}

macro_rules! test {
    ($name:ident, $make:ident, $body:block) => {
        #[test]
        fn $name() {
            struct It;
            impl Test for It {
                fn run<N: Net>(&self, $make: impl Fn(&[Address], u32) -> N) {
                    $body
                }
            }
            with_each(&It);
        }
    };
}

/// What happened, by connection.
#[derive(Default)]
struct Log {
    connected: BTreeMap<Link, u32>,
    bytes: BTreeMap<Link, Vec<u8>>,
    lost: BTreeMap<Link, Fault>,
}

impl<I: Io> Handler<I> for Log {
    fn on(&mut self, _: &mut I, event: Event<'_>) {
        match event {
            Event::Connected(link) => *self.connected.entry(link).or_default() += 1,
            Event::Data(link, bytes) => {
                self.bytes.entry(link).or_default().extend_from_slice(bytes);
            }
            Event::Lost(link, fault) => assert_eq!(self.lost.insert(link, fault), None),
        }
    }
}

impl Log {
    /// Lets the network go on until something holds.
    fn until<N: Net>(&mut self, net: &mut N, what: &str, holds: impl Fn(&Log) -> bool) {
        let last = net.io().now() + LONGEST;
        while !holds(self) {
            let now = net.io().now();
            assert!(now < last, "{what}: never");
            net.wait(now, now + Nanos(100_000_000)).unwrap();
            net.deliver(self);
        }
    }

    fn has(&self, link: Link, length: usize) -> bool {
        self.bytes.get(&link).is_some_and(|bytes| bytes.len() >= length)
    }

    fn connect<N: Net>(&mut self, net: &mut N, links: u32) {
        (0..links).for_each(|link| net.io().connect(link, 0));
        let wanted = links as usize;
        self.until(net, "connected", |log| log.connected.len() + log.lost.len() == wanted);
    }
}

/// A TCP server whose connections, counted from 0, are each handed to `behave` on a thread.
fn server(at: &str, behave: impl Fn(u32, TcpStream) + Send + Sync + Clone + 'static) -> Address {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let behave = behave.clone();
            thread::spawn(move || behave(number as u32, stream));
        }
    });
    address.into()
}

fn echo(mut from: impl Read, mut to: impl Write) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer)
        && to.write_all(&buffer[..count]).is_ok()
    {}
}

/// Bytes in which a gap, a repetition or a change of order shows.
fn pattern(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|at| (at ^ at >> 8 ^ at >> 16).to_le_bytes()[0]).collect()
}

test!(each_kind_of_address_is_reached, make, {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || echo(&stream, &stream));
        }
    });
    let echoes = |_, stream: TcpStream| echo(&stream, &stream);
    let addresses = [server("127.0.0.1:0", echoes), server("[::1]:0", echoes), Address::Unix(path)];
    let mut net = make(&addresses, 6);
    let mut log = Log::default();
    (0..6).for_each(|link| net.io().connect(link, link as usize % 3));
    log.until(&mut net, "connected", |log| log.connected.len() == 6);
    for round in 1..=3 {
        (0..6).for_each(|link| net.io().send(link, format!("{link}{round}").as_bytes()));
        log.until(&mut net, "echoed", |log| (0..6).all(|link| log.has(link, 2 * round)));
    }
    for link in 0..6 {
        assert_eq!(log.bytes[&link], format!("{link}1{link}2{link}3").as_bytes());
    }
    assert!(log.lost.is_empty() && log.connected.values().all(|count| *count == 1));
});

test!(what_cannot_be_reached_is_lost_with_its_reason, make, {
    let folder = tempfile::tempdir().unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nowhere = Address::Unix(folder.path().join("nothing"));
    let mut net = make(&[gone.into(), nowhere], 2);
    let mut log = Log::default();
    (0..2).for_each(|link| net.io().connect(link, link as usize));
    log.until(&mut net, "lost", |log| log.lost.len() == 2);
    assert_eq!(log.lost[&0], Fault::Os(libc::ECONNREFUSED));
    assert_eq!(log.lost[&1], Fault::Os(libc::ENOENT));
    assert!(log.connected.is_empty());
});

test!(a_server_that_does_not_read_gets_all_in_order_later, make, {
    // Far more than the kernel takes, in pieces of which some are copied and some are not.
    let lengths = || (0..600).map(|piece| if piece % 3 == 0 { 60_000 } else { 10_000 });
    let whole: usize = lengths().sum();
    let (go, waits) = mpsc::channel::<()>();
    let (told, hears) = mpsc::channel::<Vec<u8>>();
    let ends = Arc::new(Mutex::new((waits, told)));
    let to = server("127.0.0.1:0", move |_, mut stream| {
        let ends = ends.lock().unwrap();
        ends.0.recv().unwrap();
        let mut all = vec![0; whole];
        stream.read_exact(&mut all).unwrap();
        ends.1.send(all).unwrap();
    });
    let mut net = make(&[to], 1);
    let mut log = Log::default();
    log.connect(&mut net, 1);
    let mut sent = 0;
    for length in lengths() {
        net.io().send(0, &pattern(sent, length));
        sent += length;
        let now = net.io().now();
        net.wait(now, now).unwrap();
        net.deliver(&mut log);
    }
    go.send(()).unwrap();
    let last = net.io().now() + LONGEST;
    let got = loop {
        let now = net.io().now();
        assert!(now < last && log.lost.is_empty(), "it never came: {:?}", log.lost);
        net.wait(now, now + Nanos(1_000_000)).unwrap();
        net.deliver(&mut log);
        if let Ok(got) = hears.try_recv() {
            break got;
        }
    };
    assert!(got == pattern(0, whole), "other bytes than were sent");
});

test!(more_than_all_buffers_hold_arrives_whole, make, {
    const LENGTH: usize = 8 * 1024 * 1024;
    let to = server("127.0.0.1:0", |_, mut stream| {
        stream.write_all(&pattern(0, LENGTH)).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let _until_the_client_closes = stream.read(&mut [0]);
    });
    let mut net = make(&[to], 12);
    let mut log = Log::default();
    log.connect(&mut net, 12);
    log.until(&mut net, "all", |log| log.lost.len() == 12);
    for link in 0..12 {
        assert_eq!(log.lost[&link], Fault::Closed);
        assert!(log.bytes[&link] == pattern(0, LENGTH), "link {link}");
    }
});

test!(a_reset_is_told_and_so_is_sending_to_nobody, make, {
    let to = server("127.0.0.1:0", |number, mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        if number.is_multiple_of(2) {
            let linger = libc::linger { l_onoff: 1, l_linger: 0 };
            let (socket, length) = (stream.as_raw_fd(), size_of_val(&linger) as u32);
            let at = (&raw const linger).cast();
            // SAFETY: the descriptor is open and `linger` a valid linger of the size given.
            let status =
                unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_LINGER, at, length) };
            assert_eq!(status, 0);
        } else {
            // What is not read makes the close a reset, once there is more.
            stream.shutdown(Shutdown::Read).unwrap();
        }
    });
    let mut net = make(&[to], 8);
    let mut log = Log::default();
    log.connect(&mut net, 8);
    let last = net.io().now() + LONGEST;
    while log.lost.len() < 8 {
        assert!(net.io().now() < last, "not told of all: {:?}", log.lost);
        for link in (0..8).filter(|link| !log.lost.contains_key(link)) {
            net.io().send(link, b"and on it goes");
        }
        let now = net.io().now();
        net.wait(now, now + Nanos(1_000_000)).unwrap();
        net.deliver(&mut log);
    }
    let known = [Fault::Closed, Fault::Os(libc::ECONNRESET), Fault::Os(libc::EPIPE)];
    assert!(log.lost.values().all(|fault| known.contains(fault)), "{:?}", log.lost);
    assert!(log.lost.values().any(|fault| *fault != Fault::Closed), "{:?}", log.lost);
});

/// Closes each connection at its first bytes and connects anew, checking that none of an old
/// connection's bytes is delivered on a new one.
struct Churn {
    left: u32,
    /// The number by which the server calls a connection, once it was heard.
    heard: BTreeMap<Link, u8>,
    numbers: std::collections::BTreeSet<u32>,
}

impl<I: Io> Handler<I> for Churn {
    fn on(&mut self, io: &mut I, event: Event<'_>) {
        match event {
            Event::Connected(link) => io.send(link, b"?"),
            Event::Data(link, bytes) => {
                let number = u32::from_le_bytes(bytes[..4].try_into().unwrap());
                assert!(self.numbers.insert(number), "connection {number} again, on {link}");
                io.close(link);
                if self.left > 0 {
                    self.left -= 1;
                    io.connect(link, 0);
                } else {
                    self.heard.insert(link, 0);
                }
            }
            Event::Lost(link, fault) => panic!("{link}: {fault}"),
        }
    }
}

test!(what_is_under_way_on_a_closed_connection_is_never_anothers, make, {
    let to = server("127.0.0.1:0", |number, mut stream| {
        if stream.read_exact(&mut [0]).is_ok() {
            // One message is all a client takes; it closes while more come.
            let message = number.to_le_bytes().repeat(2048);
            while stream.write_all(&message).is_ok() {}
        }
    });
    let mut net = make(&[to], 16);
    let mut churn = Churn { left: 400, heard: BTreeMap::new(), numbers: [].into() };
    (0..16).for_each(|link| net.io().connect(link, 0));
    let last = net.io().now() + LONGEST;
    while churn.heard.len() < 16 {
        let now = net.io().now();
        assert!(now < last, "it never ends");
        net.wait(now, now + Nanos(100_000_000)).unwrap();
        net.deliver(&mut churn);
    }
    assert_eq!(churn.numbers.len(), 416);
});

test!(closing_calls_off_what_is_under_way, make, {
    let (told, hears) = mpsc::channel::<bool>();
    let to = server("127.0.0.1:0", move |number, mut stream| {
        // Only what comes after the first connections is read, so that their bytes are stuck.
        if number >= 4 {
            return echo(&stream, &stream);
        }
        let ended = stream.read_exact(&mut vec![0; 32 * 1024 * 1024]).is_err();
        told.send(ended).unwrap();
    });
    let mut net = make(&[to], 4);
    let mut log = Log::default();
    log.connect(&mut net, 4);
    for link in 0..4 {
        net.io().send(link, &vec![b'x'; 24 * 1024 * 1024]);
        let now = net.io().now();
        net.wait(now, now).unwrap();
        net.deliver(&mut log);
    }
    // Closed with a send under way, then closed again before it is asked to connect, then while it
    // connects; the last one stays.
    for link in 0..4 {
        net.io().close(link);
        net.io().connect(link, 0);
        net.io().close(link);
        net.io().connect(link, 0);
        let now = net.io().now();
        net.wait(now, now).unwrap();
        net.io().close(link);
        net.deliver(&mut log);
        net.io().connect(link, 0);
    }
    log.until(&mut net, "again", |log| log.connected.values().all(|count| *count == 2));
    (0..4).for_each(|link| net.io().send(link, b"hello"));
    log.until(&mut net, "echoed", |log| (0..4).all(|link| log.has(link, 5)));
    assert!(log.bytes.values().all(|bytes| bytes == b"hello"), "stale bytes");
    assert!(log.lost.is_empty());
    // The server sees an end and not the rest of what was called off.
    assert!((0..4).all(|_| hears.recv_timeout(std::time::Duration::from_secs(20)).unwrap()));
});

test!(a_wait_ends_at_its_deadline, make, {
    let mut net = make(&[], 1);
    for _ in 0..50 {
        let begun = net.io().now();
        let deadline = begun + Nanos(300_000);
        let mut now = begun;
        let mut waits = 0;
        while now < deadline {
            now = net.wait(now, deadline).unwrap();
            net.deliver(&mut Log::default());
            waits += 1;
        }
        assert!(waits < 10, "{waits} waits for nothing");
    }
});

/// Sends on so many of four connections to an echo and tells how long the wait for it took.
fn coalesced(net: &mut Uring, log: &mut Log, asked: u32) -> Nanos {
    log.bytes.clear();
    (0..asked).for_each(|link| net.io().send(link, b"?"));
    let begun = net.io().now();
    log.until(net, "echoed", |log| log.bytes.len() == asked as usize);
    net.io().now().since(begun)
}

#[test]
fn coalescing_waits_for_several_answers_or_the_window() {
    let window = Nanos(50_000_000);
    let waiting = Waiting::Coalesce { answers: 8, window };
    if let Err(why) = uring::probe(4, waiting) {
        return eprintln!("without io_uring: {why}");
    }
    let to = server("127.0.0.1:0", |_, stream| echo(&stream, &stream));
    let clock = Clock { origin_monotonic_ns: monotonic_ns() };
    let mut net = Uring::new(clock, &[to], 4, waiting).unwrap();
    let mut log = Log::default();
    log.connect(&mut net, 4);
    let few = coalesced(&mut net, &mut log, 2);
    assert!(few >= window, "two of four answers did not wait: {few:?}");
    // A slow machine may keep some of the answers back for once, but hardly each time.
    let all = (0..20).map(|_| coalesced(&mut net, &mut log, 4)).min().unwrap();
    assert!(all < window, "all answers were there and waited: {all:?}");
    // The deadline comes first, however long the window.
    let now = net.io().now();
    let woke = net.wait(now, now + Nanos(2_000_000)).unwrap();
    assert!(woke.since(now) < window, "the window outlasts the deadline");
    assert!(woke >= Instant(0));
}
