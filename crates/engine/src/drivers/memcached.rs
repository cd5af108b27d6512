//! memcached, by its text protocol: operations become commands, answers become verdicts.
//!
//! Capabilities: the classic commands and the meta ones that have one answer, templates in their
//! words, a list as the several keys of `get` and its like; the log-in of an authentication file,
//! TLS (`memcacheds`), pipelines. What a command stores is its last argument, whose length is
//! written where it belongs: `[set, "k:${id}", "0", "0", "${text}"]`. An error of the server is a
//! failed operation; text, content, number of values and records by their keys are checked. Of
//! several servers, each client has a connection to each: a command goes where its key is placed, a
//! `get` of several keys in parts to all that have some of them, at once, and what has no key to
//! every server. Absent: the binary protocol, SASL, and a connection for each transaction where
//! there are several servers.

mod placement;
mod request;

use wire::memcached::{Answers, Error, write};

use super::command::{Awaited, Expectation, arguments};
use super::secret::password;
use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told};
use crate::error::{EngineError, PlanError};
use crate::plan::{Connection, Driver, Plan};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, Program};
use placement::Placement;
use request::Request;

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "memcached", port: 11211, tls: false },
    Scheme { name: "memcacheds", port: 11211, tls: true },
];

/// As many as there are bits to name them by.
const MOST_SERVERS: usize = 64;
/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Memcached {
    operations: Vec<(Request, Expectation)>,
    targets: Vec<Target>,
    /// What a client says first.
    greeting: Vec<u8>,
    /// Which of several servers has a key.
    placement: Option<Placement>,
    /// Room for what is stored, and for a key.
    stored: Vec<u8>,
}

/// What is remembered of a connection.
pub struct Conn {
    target: usize,
    answers: Answers,
    /// How many lines of the present answer have come.
    lines: usize,
    /// The place of the next value's key among all keys.
    key: usize,
}

/// What an answer must be, and what of it has come.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    awaited: Awaited,
    rows: u64,
    /// The server of each key, where there are several.
    placed: Vec<u8>,
    /// Answers that are still to come, one from each server asked.
    parts: u32,
    /// Why the request cannot be written.
    unwritten: Option<Error>,
    /// An error of one of the servers.
    error: Option<Told>,
}

impl Memcached {
    /// Compiles the Plan's operations; the Plan's driver must be `memcached`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Memcached, EngineError> {
        let Driver::Memcached { targets: urls, user, password: hidden, sharding } = &plan.driver
        else {
            return Err(EngineError::Bug("a Plan for another driver than memcached".into()));
        };
        let targets = Target::all(urls, SCHEMES)?;
        let wrong = |field, value: &str, why| Err(PlanError::new(field, value, why).into());
        let placement = match sharding {
            None if targets.len() > 1 => {
                let why = "several servers need to know which has a key: ketama or modulo";
                return wrong("driver.sharding", "", why);
            }
            Some(_) if targets.len() > MOST_SERVERS => {
                return wrong("driver.targets", "", "at most 64 servers");
            }
            Some(_) if targets.len() > 1 && plan.connection == Connection::New => {
                return wrong("connection", "new", "several servers keep their connections");
            }
            Some(sharding) if targets.len() > 1 => Some(Placement::new(*sharding, &targets)),
            Some(_) | None => None,
        };
        let secret = password(hidden.as_deref(), program, "driver.password")?;
        let mut greeting = Vec::new();
        match (user, hidden) {
            (Some(user), Some(_)) => {
                // The key is of no meaning, and the value of a first `set` is the log-in.
                let value = [user.as_bytes(), &secret].join(&b' ');
                greeting.extend_from_slice(b"set login 0 0");
                write::number(value.len() as u64, &mut greeting);
                write::end(&mut greeting);
                write::block(&value, &mut greeting);
            }
            (None, None) => {}
            (user, _) => {
                let why = "a user and a password belong together";
                let user = user.as_deref().unwrap_or_default();
                return Err(PlanError::new("driver.user", user, why).into());
            }
        }
        let compile = |operation| {
            let arguments = arguments(program, operation, "memcached")?;
            let expect = Expectation::compile(program, operation, &arguments)?;
            Ok((Request::compile(operation, arguments)?, expect))
        };
        let operations: Result<_, PlanError> = program.operations().iter().map(compile).collect();
        let (operations, stored) = (operations?, Vec::new());
        Ok(Memcached { operations, targets, greeting, placement, stored })
    }

    fn greet(&self, out: &mut Vec<u8>) -> Opening {
        out.extend_from_slice(&self.greeting);
        if self.greeting.is_empty() { Opening::Ready } else { Opening::More }
    }

    /// Notes what an operation's answer must be.
    #[inline]
    fn begin(&self, asked: &mut Asked, operation: OperationIndex, client: &Client) {
        asked.operation = operation;
        asked.rows = 0;
        asked.parts = 1;
        asked.error = None;
        self.operations[operation].1.begin(&mut asked.awaited, client);
    }
}

impl Protocol for Memcached {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::memcached::Memcached::new(0))
    }

    fn spread(&self) -> u32 {
        if self.placement.is_some() { self.targets.len() as u32 } else { 1 }
    }

    fn places(&mut self, asked: &mut Asked, operation: OperationIndex, client: &Client) -> u64 {
        self.begin(asked, operation, client);
        let Some(placement) = &self.placement else { return 1 };
        let (mut places, mut sound) = (0_u64, Ok(()));
        asked.placed.clear();
        self.operations[operation].0.keys(client, &mut self.stored, |key| {
            let place = placement.place(key);
            places |= 1 << place;
            asked.placed.push(place);
            sound = sound.and(write::check(key));
        });
        if asked.placed.is_empty() {
            places = u64::MAX >> (MOST_SERVERS - self.targets.len());
        }
        asked.parts = places.count_ones();
        asked.unwritten = sound.err();
        places
    }

    fn conn(&self, target: usize) -> Conn {
        Conn { target, answers: Answers::default(), lines: 0, key: 0 }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.answers.reset();
        (conn.lines, conn.key) = (0, 0);
        if self.targets[conn.target].tls {
            return Ok(Opening::Secure);
        }
        Ok(self.greet(out))
    }

    fn secured(&mut self, _conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(self.greet(out))
    }

    fn opening(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        match conn.answers.next(input).map_err(Reason::Memcached)? {
            None => Ok(Opening::More),
            Some(answer) => match answer.error() {
                Some(error) => Err(Reason::Server(Told::new(error))),
                None => Ok(Opening::Ready),
            },
        }
    }

    #[inline]
    fn encode(
        &mut self,
        conn: &mut Conn,
        asked: &mut Asked,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if self.placement.is_none() {
            self.begin(asked, operation, client);
        }
        if let Some(error) = asked.unwritten {
            return Err(Reason::Memcached(error));
        }
        let request = &self.operations[operation].0;
        let wanted = |key: usize| is_at(&asked.placed, key, conn.target);
        request.write(client, wanted, &mut self.stored, out).map_err(Reason::Memcached)
    }

    #[inline]
    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        let (request, expect) = &self.operations[asked.operation];
        loop {
            let answer = match conn.answers.next(input) {
                Ok(Some(answer)) => answer,
                Ok(None) => return Received::More,
                Err(error) => return Received::Broken(Reason::Memcached(error)),
            };
            asked.rows += answer.rows();
            if let Some(error) = answer.error() {
                asked.error = Some(Told::new(error));
            } else if let Some(text) = answer.text() {
                while !is_at(&asked.placed, conn.key, conn.target) {
                    conn.key += 1;
                }
                expect.whole(&mut asked.awaited, conn.lines == 0, || Some(text));
                expect.look(&mut asked.awaited, conn.key, Some(text));
                conn.key += 1;
            }
            conn.lines += 1;
            if !answer.is_last() {
                continue;
            }
            // Where memcached does not understand the line it takes the value for the next, and
            // what it says to that is nobody's.
            let keep = request.value.is_none()
                || answer.error().is_none_or(|error| error.starts_with(b"SERVER_ERROR"));
            if !keep {
                *input = &[];
            }
            (conn.lines, conn.key) = (0, 0);
            asked.parts -= 1;
            if asked.parts > 0 {
                return Received::Part;
            }
            let verdict = match asked.error {
                Some(error) => Err(Reason::Server(error)),
                None => expect.verdict(&asked.awaited, || asked.rows),
            };
            return Received::Reply { verdict, keep };
        }
    }

    fn ended(&mut self, conn: &mut Conn, _asked: &mut Asked) -> Received {
        let begun = conn.answers.is_torn() || conn.lines > 0;
        Received::Broken(if begun { Reason::CutShort } else { Reason::Unanswered })
    }
}

/// Whether the key of this place among all keys is placed on this server; of one server all are,
/// and what is behind the last key is anyone's.
#[inline]
fn is_at(placed: &[u8], key: usize, target: usize) -> bool {
    placed.get(key).is_none_or(|&place| usize::from(place) == target)
}
