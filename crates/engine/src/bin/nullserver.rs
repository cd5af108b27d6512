//! The null server: answers every request with the same bytes, as cheaply as one thread can.
//!
//! It measures the ruler: the rate and the latency that agent and network have by themselves.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use engine::process;
use engine::responder::tls::{Begins, Tls};
use engine::responder::{self, Answered, Service, Session};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

/// Answers every request with the same bytes.
#[derive(Parser)]
#[command(version, about)]
struct Command {
    #[command(subcommand)]
    protocol: Protocol,
}

#[derive(Subcommand)]
enum Protocol {
    /// HTTP/1.1
    Http(Http),
    /// LDAP: everyone is let in
    Ldap(Ldap),
    /// memcached, classic and meta commands
    Memcached(Store),
    /// `MySQL`
    Mysql(Mysql),
    /// `PostgreSQL`: everyone is let in
    Postgresql(Postgresql),
    /// Redis, RESP 2 and 3
    Redis(Store),
}

/// What every protocol has.
#[derive(Args)]
struct Place {
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The core to run on
    #[arg(long)]
    cpu: Option<u32>,
    /// How long to be busy with each request, in nanoseconds
    #[arg(long, default_value_t = 0)]
    service_ns: u64,
    /// Encrypt connections, under a certificate for `localhost` made now
    #[arg(long)]
    tls: bool,
}

#[derive(Args)]
struct Http {
    #[command(flatten)]
    place: Place,
    /// The answer's status
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..1000))]
    status: u16,
    /// The body: this many bytes
    #[arg(long, conflicts_with = "body")]
    body_bytes: Option<usize>,
    /// The body: this text
    #[arg(long)]
    body: Option<String>,
    /// A header, `Name: value`
    #[arg(long = "header", value_parser = header)]
    headers: Vec<(String, String)>,
}

#[derive(Args)]
struct Ldap {
    #[command(flatten)]
    place: Place,
    /// An attribute of every entry and its value, `name: value`
    #[arg(long = "attribute", value_parser = header)]
    attributes: Vec<(String, String)>,
}

#[derive(Args)]
struct Mysql {
    #[command(flatten)]
    place: Place,
    /// How many rows a statement that asks for rows gives
    #[arg(long, default_value_t = 1)]
    rows: u32,
    /// How long the second column of each row is; the first is the row's number, from 1
    #[arg(long, default_value_t = 0)]
    text_bytes: usize,
}

#[derive(Args)]
struct Postgresql {
    #[command(flatten)]
    place: Place,
    /// How many rows every statement gives
    #[arg(long, default_value_t = 1)]
    rows: u32,
    /// A column of each row, any number of times; none is `1`
    #[arg(long = "column")]
    columns: Vec<String>,
}

#[derive(Args)]
struct Store {
    #[command(flatten)]
    place: Place,
    /// The bytes of every value
    #[arg(long, default_value_t = 0)]
    value_bytes: usize,
}

impl Protocol {
    fn service(self) -> Result<(Place, Box<dyn Service>), Box<dyn std::error::Error>> {
        let begins = self.begins();
        let (place, service) = self.plain()?;
        let encrypted = place.tls;
        Ok(if encrypted { (place, Box::new(Tls::new(service, begins)?)) } else { (place, service) })
    }

    fn begins(&self) -> Begins {
        match self {
            Protocol::Http(_) | Protocol::Ldap(_) | Protocol::Memcached(_) | Protocol::Redis(_) => {
                Begins::AtOnce
            }
            Protocol::Mysql(_) | Protocol::Postgresql(_) => Begins::WhenAsked,
        }
    }

    fn plain(self) -> Result<(Place, Box<dyn Service>), Box<dyn std::error::Error>> {
        Ok(match self {
            Protocol::Http(Http { place, status, body_bytes, body, headers }) => {
                let filled = || vec![b'x'; body_bytes.unwrap_or(0)];
                let body = body.map_or_else(filled, String::into_bytes);
                (place, Box::new(responder::Http::new(status, &headers, &body)?))
            }
            Protocol::Ldap(Ldap { place, attributes }) => {
                (place, Box::new(responder::ldap::Ldap::new(attributes)))
            }
            Protocol::Mysql(Mysql { place, rows, text_bytes }) => {
                let text = "x".repeat(text_bytes);
                let rows: Vec<_> = (1..=rows).map(|id| (id.into(), text.as_str())).collect();
                let table = wire::mysql::Table::new(&["id", "text"], &rows);
                let server = responder::Mysql::new(table);
                let server = if place.tls { server.encrypting() } else { server };
                (place, Box::new(server))
            }
            Protocol::Postgresql(Postgresql { place, rows, columns }) => {
                let given: Vec<&[u8]> = columns.iter().map(String::as_bytes).collect();
                let texts: &[&[u8]] = if given.is_empty() { &[b"1"] } else { &given };
                let answer = wire::postgresql::Answer::new(rows, texts);
                let server = responder::Postgresql::new(answer);
                let server = if place.tls { server.encrypting() } else { server };
                (place, Box::new(server))
            }
            Protocol::Memcached(Store { place, value_bytes }) => {
                (place, Box::new(responder::memcached::Memcached::new(value_bytes)))
            }
            Protocol::Redis(Store { place, value_bytes }) => {
                (place, Box::new(responder::redis::Redis::new(value_bytes)))
            }
        })
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("it is `name: value`")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn main() -> ExitCode {
    match run(Command::parse().protocol) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("nullserver: {why}");
            ExitCode::from(4)
        }
    }
}

fn run(protocol: Protocol) -> Result<(), Box<dyn std::error::Error>> {
    let (place, answers) = protocol.service()?;
    process::pin(place.cpu.as_slice())?;
    process::allow_open_files(4096)?;
    let listener = TcpListener::bind(place.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", place.listen))?;
    println!("{{\"listening\":\"{}\"}}", listener.local_addr()?);
    io::stdout().flush()?;
    end_with_stdin();
    let busy = Duration::from_nanos(place.service_ns);
    Server { listener, answers, busy, connections: Vec::new(), free: Vec::new() }.serve()?;
    Ok(())
}

/// Whoever started this process keeps its standard input open as long as it is wanted.
fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut sink = [0; 256];
        while matches!(io::stdin().read(&mut sink), Ok(1..)) {}
        std::process::exit(0);
    });
}

const LISTENER: Token = Token(usize::MAX);
const READ_BYTES: usize = 64 * 1024;

struct Server {
    listener: TcpListener,
    answers: Box<dyn Service>,
    busy: Duration,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
}

struct Connection {
    stream: TcpStream,
    session: Box<dyn Session>,
    unsent: Vec<u8>,
    closing: bool,
}

impl Server {
    fn serve(&mut self) -> io::Result<()> {
        let mut poll = Poll::new()?;
        poll.registry().register(&mut self.listener, LISTENER, Interest::READABLE)?;
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; READ_BYTES];
        let mut out = Vec::with_capacity(READ_BYTES);
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                if event.token() == LISTENER {
                    self.accept(poll.registry())?;
                    continue;
                }
                let index = event.token().0;
                let Some(Some(connection)) = self.connections.get_mut(index) else { continue };
                let ends = event.is_read_closed();
                let turn = Turn { busy: self.busy, ends };
                if connection.work(turn, &mut buffer, &mut out).is_err() {
                    self.connections[index] = None;
                    self.free.push(index);
                }
            }
        }
    }

    fn accept(&mut self, registry: &mio::Registry) -> io::Result<()> {
        loop {
            let mut stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            stream.set_nodelay(true)?;
            let index = self.free.pop().unwrap_or(self.connections.len());
            if index == self.connections.len() {
                self.connections.push(None);
            }
            let interest = Interest::READABLE | Interest::WRITABLE;
            registry.register(&mut stream, Token(index), interest)?;
            let mut session = self.answers.session();
            let mut greeting = Vec::new();
            session.greet(&mut greeting);
            let mut connection = Connection { stream, session, unsent: Vec::new(), closing: false };
            // A client that is gone already is noticed when it is read from.
            let _gone = connection.write(&greeting);
            self.connections[index] = Some(connection);
        }
    }
}

/// What a connection is given for one turn.
#[derive(Clone, Copy)]
struct Turn {
    busy: Duration,
    ends: bool,
}

impl Connection {
    /// Reads, answers and writes until nothing more can be done; an error ends the connection.
    fn work(&mut self, turn: Turn, buffer: &mut [u8], out: &mut Vec<u8>) -> io::Result<()> {
        let unsent = std::mem::take(&mut self.unsent);
        self.write(&unsent)?;
        // Whoever does not read its answers is not read from either.
        while self.unsent.is_empty() && !self.closing {
            let count = match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            out.clear();
            self.answer(turn, &buffer[..count], out)?;
            self.write(out)?;
            if count < buffer.len() && !turn.ends {
                break;
            }
        }
        if self.closing && self.unsent.is_empty() {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    fn answer(&mut self, turn: Turn, mut input: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        while !self.closing {
            let answered = self.session.answer(&mut input, out);
            match answered.map_err(|_| io::Error::other("no request"))? {
                Answered::More => break,
                Answered::Aside | Answered::Secure => {}
                Answered::Request { keep } => {
                    self.closing = !keep;
                    if !turn.busy.is_zero() {
                        let begun = Instant::now();
                        while begun.elapsed() < turn.busy {}
                    }
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        self.unsent.extend_from_slice(bytes);
        Ok(())
    }
}
