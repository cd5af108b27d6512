//! memcached, by its text protocol: operations become commands, answers become verdicts.
//!
//! Capabilities: the classic commands and the meta ones that have one answer, templates in their
//! words, a list as the several keys of `get` and its like; the log-in of an authentication file,
//! TLS (`memcacheds`), pipelines. What a command stores is its last argument, whose length is
//! written where it belongs: `[set, "k:${id}", "0", "0", "${text}"]`. An error of the server is a
//! failed operation; text, content, number of values and records by their keys are checked. Absent:
//! the binary protocol, SASL, and keys placed on several servers.

use wire::memcached::{Answers, Error, is_storage, write};

use super::command::{Argument, Awaited, Element, Expectation, arguments, elements};
use super::secret::password;
use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told};
use crate::error::{EngineError, PlanError};
use crate::plan::{Driver, Plan};
use crate::responder::{self, Service};
use crate::template::Template;
use crate::values::ValueId;
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "memcached", port: 11211, tls: false },
    Scheme { name: "memcacheds", port: 11211, tls: true },
];

/// Commands that have one answer and store nothing.
const PLAIN: [&str; 16] = [
    "get",
    "gets",
    "gat",
    "gats",
    "incr",
    "decr",
    "delete",
    "touch",
    "version",
    "stats",
    "flush_all",
    "mg",
    "md",
    "ma",
    "me",
    "mn",
];

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Memcached {
    operations: Vec<(Request, Expectation)>,
    targets: Vec<Target>,
    /// What a client says first.
    greeting: Vec<u8>,
    /// Room for what is stored.
    stored: Vec<u8>,
}

/// A compiled command: a line, and behind it what it stores.
#[derive(Clone)]
struct Request {
    words: Vec<Word>,
    value: Option<Template>,
}

#[derive(Clone)]
enum Word {
    /// One that varies, or does not.
    One(Template),
    /// One for each element of the list.
    Each(Template, ValueId),
    /// The length of the value.
    Length,
}

/// What is remembered of a connection.
pub struct Conn {
    target: usize,
    answers: Answers,
}

/// What an answer must be, and how many rows of it have come.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    awaited: Awaited,
    rows: u64,
}

impl Memcached {
    /// Compiles the Plan's operations; the Plan's driver must be `memcached`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Memcached, EngineError> {
        let Driver::Memcached { targets, user, password: hidden } = &plan.driver else {
            return Err(EngineError::Bug("a Plan for another driver than memcached".into()));
        };
        if targets.len() > 1 {
            let why = "keys are not placed on several servers: one target";
            return Err(PlanError::new("driver.targets[1]", &targets[1], why).into());
        }
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
        let targets = Target::all(targets, SCHEMES)?;
        Ok(Memcached { operations: operations?, targets, greeting, stored: Vec::new() })
    }

    fn greet(&self, out: &mut Vec<u8>) -> Opening {
        out.extend_from_slice(&self.greeting);
        if self.greeting.is_empty() { Opening::Ready } else { Opening::More }
    }
}

impl Request {
    fn compile(
        operation: &OperationInfo,
        mut arguments: Vec<Argument>,
    ) -> Result<Request, PlanError> {
        let text = |argument: &Argument| {
            let text = argument.template.constant().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let texts: Vec<String> = arguments.iter().map(text).collect();
        let wrong = |index: usize, why: &str| {
            let field = format!("{}.request.command[{index}]", operation.field);
            PlanError::new(field, &texts[index], why)
        };
        let (name, last) = (texts[0].as_str(), arguments.len() - 1);
        // Where the length of the value stands.
        let length = match name {
            "ms" => Some(2),
            _ if is_storage(name.as_bytes()) => Some(4),
            _ if PLAIN.contains(&name) => None,
            _ => {
                let known = PLAIN.into_iter().chain(["set", "add", "replace", "cas", "ms"]);
                let why = "the driver `memcached` knows no such command";
                return Err(wrong(0, why).nearest_to(name, known));
            }
        };
        if length.is_some_and(|length| last < length) {
            return Err(wrong(last, "its last argument is what a command stores"));
        }
        let first_key = match name {
            "get" | "gets" => 1,
            "gat" | "gats" => 2,
            _ => usize::MAX,
        };
        let value = length.and_then(|_| arguments.pop()).map(|argument| argument.template);
        let mut words = Vec::with_capacity(arguments.len() + 1);
        for (index, Argument { template, list }) in arguments.into_iter().enumerate() {
            let text = &texts[index];
            if list.is_some() && index < first_key {
                return Err(wrong(index, "a list stands for the several keys of `get` alone"));
            }
            let quiet = if name.starts_with('m') { "q" } else { "noreply" };
            if index > 1 && first_key == usize::MAX && text == quiet {
                return Err(wrong(index, "an operation has one answer"));
            }
            if template.constant().is_some() {
                write::check(text.as_bytes()).map_err(|error| wrong(index, &error.to_string()))?;
            }
            if length == Some(index) {
                words.push(Word::Length);
            }
            words.push(match list {
                Some(list) => Word::Each(template, list),
                None => Word::One(template),
            });
        }
        if length == Some(last) {
            words.push(Word::Length);
        }
        Ok(Request { words, value })
    }

    /// Appends the command with the values as they are now.
    #[inline]
    fn write(&self, client: &Client, stored: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(value) = &self.value {
            stored.clear();
            value.render(client, stored);
        }
        let begun = out.len();
        for word in &self.words {
            match word {
                Word::Length => write::number(stored.len() as u64, out),
                Word::One(template) => write::word(begun, out, |out| template.render(client, out))?,
                Word::Each(template, list) => {
                    for &element in elements(client, *list) {
                        let values = Element { client, list: *list, element };
                        write::word(begun, out, |out| template.render(&values, out))?;
                    }
                }
            }
        }
        write::end(out);
        if self.value.is_some() {
            write::block(stored, out);
        }
        Ok(())
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

    fn conn(&self, target: usize) -> Conn {
        Conn { target, answers: Answers::default() }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.answers.reset();
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
        _conn: &mut Conn,
        asked: &mut Asked,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let (request, expect) = &self.operations[operation];
        asked.operation = operation;
        asked.rows = 0;
        expect.begin(&mut asked.awaited, client);
        request.write(client, &mut self.stored, out).map_err(Reason::Memcached)
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
            if let Some(error) = answer.error() {
                // Where memcached does not understand the line it takes the value for the next, and
                // what it says to that is nobody's.
                let keep = request.value.is_none() || error.starts_with(b"SERVER_ERROR");
                if !keep {
                    *input = &[];
                }
                return Received::Reply { verdict: Err(Reason::Server(Told::new(error))), keep };
            }
            asked.rows += answer.rows();
            if let Some(text) = answer.text() {
                expect.whole(&mut asked.awaited, || Some(text));
                expect.look(&mut asked.awaited, Some(text));
            }
            if answer.is_last() {
                let verdict = expect.verdict(&asked.awaited, || asked.rows);
                return Received::Reply { verdict, keep: true };
            }
        }
    }

    fn ended(&mut self, conn: &mut Conn, asked: &mut Asked) -> Received {
        let begun = conn.answers.is_torn() || asked.rows > 0;
        Received::Broken(if begun { Reason::CutShort } else { Reason::Unanswered })
    }
}
