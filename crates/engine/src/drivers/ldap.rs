//! LDAP, version 3: operations become searches and changes, answers verdicts.
//!
//! Capabilities: `search`, `modify`, `add` and `delete`, with templates in names, filters and
//! values; simple binds, or as nobody, as connections are opened; TLS, from the beginning (`ldaps`)
//! or by `start_tls`; pipelines, whose answers come in any order. A search's rows are its entries,
//! its columns the first values of the attributes that it names; `expect.rows`, `expect.first` and
//! `expect.keyed` are checked. An outcome other than success is a failed operation, told by its
//! code's name; but a base that is not there is a search that finds nothing where `expect.rows`
//! says so, and reaching a `size_limit` is no failure. Absent: SASL, binds as operations,
//! comparisons, changes of names, controls, and other servers: who refers to one fails.

mod request;

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;

use wire::ldap::{DISCONNECTION, Entry, Error, Message, Messages, Outcome, Said, codes};
use wire::ldap::{bind, start_tls};

use self::request::{Bound, Kind, Request};
use super::secret::password;
use super::sql::{Cell, Checking, Expectation};
use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told};
use crate::error::PlanError;
use crate::plan::{Driver, Plan};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "ldap", port: 389, tls: false },
    Scheme { name: "ldaps", port: 636, tls: true },
];

/// The greatest number of a request, RFC 4511, 4.1.1.1.
const MOST_NUMBERS: u32 = i32::MAX as u32;

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Ldap {
    shared: Arc<Shared>,
    /// A message of the server's that is being told.
    told: Vec<u8>,
}

/// What was compiled once for all workers.
struct Shared {
    targets: Vec<Target>,
    user: String,
    password: Vec<u8>,
    start_tls: bool,
    pipeline: usize,
    program: Program,
    operations: Vec<Operation>,
}

struct Operation {
    request: Request,
    expect: Expectation,
}

/// What is remembered of a connection.
pub struct Conn {
    target: usize,
    messages: Messages,
    /// The number of the last request.
    last: u32,
    /// The numbers of the requests whose answers are awaited, in the order of asking.
    awaited: VecDeque<u32>,
    /// Whether the server's leave to encrypt is awaited.
    securing: bool,
}

/// What is remembered of an operation.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    number: u32,
    checking: Checking,
    failure: Option<Reason>,
}

impl Ldap {
    /// Compiles the Plan's operations; the Plan's driver must be `ldap`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Ldap, PlanError> {
        let Driver::Ldap { targets, user, password: hidden, start_tls } = &plan.driver else {
            return Err(PlanError::new("driver", "", "this is not `ldap`"));
        };
        let mut targets = Target::all(targets, SCHEMES)?;
        if *start_tls {
            for (index, target) in targets.iter_mut().enumerate() {
                if std::mem::replace(&mut target.tls, true) {
                    let why = "`ldaps` is encrypted from the beginning; `start_tls` is for `ldap`";
                    let field = format!("driver.targets[{index}]");
                    return Err(PlanError::new(field, target.to_string(), why));
                }
            }
        }
        let secret = password(hidden.as_deref(), program, "driver.password")?;
        let name = user.clone().unwrap_or_default();
        if name.is_empty() != secret.is_empty() {
            // A server would take a name without a password for nobody's bind, and let it in.
            let why = "a name and a password, neither of them empty, belong together";
            return Err(PlanError::new("driver.user", name, why));
        }
        let compile = |operation: &OperationInfo| Operation::compile(program, operation);
        let operations = program.operations().iter().map(compile).collect::<Result<_, _>>()?;
        let shared = Shared {
            targets,
            user: name,
            password: secret,
            start_tls: *start_tls,
            pipeline: plan.pipeline as usize,
            program: program.clone(),
            operations,
        };
        Ok(Ldap { shared: Arc::new(shared), told: Vec::with_capacity(256) })
    }

    fn bind(&self, conn: &mut Conn, out: &mut Vec<u8>) -> Opening {
        conn.last += 1;
        bind(conn.last, self.shared.user.as_bytes(), &self.shared.password, out);
        Opening::More
    }
}

/// What an outcome other than success is called; `told` is room to write it in.
fn refusal(told: &mut Vec<u8>, outcome: Outcome<'_>) -> Reason {
    let Outcome { code, message, mut referral, .. } = outcome;
    let name = codes::name(code);
    told.clear();
    let named = write!(told, "{name}{}({code})", if name.is_empty() { "" } else { " " });
    named.expect("a vector takes all");
    for (between, text) in [(&b": "[..], Some(message)), (b" at ", referral.next())] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            told.extend_from_slice(between);
            told.extend_from_slice(text);
        }
    }
    Reason::Server(Told::new(told))
}

/// The whole number that a text is, written as one is.
fn whole(text: &[u8]) -> Option<i64> {
    let number = std::str::from_utf8(text).ok()?.parse().ok()?;
    (itoa::Buffer::new().format(number).as_bytes() == text).then_some(number)
}

impl Operation {
    fn compile(program: &Program, operation: &OperationInfo) -> Result<Operation, PlanError> {
        let request = Request::compile(program, operation)?;
        let expect = Expectation::compile(program, operation)?;
        let (asked, named) = (expect.columns(), request.columns.len());
        if asked > named {
            let why = format!("it is about {asked} attributes, and the search names {named}");
            return Err(PlanError::new(format!("{}.expect", operation.field), "", why));
        }
        Ok(Operation { request, expect })
    }

    /// The column of an entry; the first may be a key, which is drawn as a whole number.
    #[inline]
    fn cell<'a>(&self, entry: &Entry<'a>, column: usize) -> Option<Cell<'a>> {
        let text = entry.first(self.request.columns.get(column)?)?;
        let number = if column == 0 { whole(text) } else { None };
        Some(number.map_or(Cell::Text(text), Cell::Integer))
    }

    /// How the operation ended.
    fn verdict(
        &self,
        asked: &mut Asked,
        outcome: Outcome<'_>,
        told: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let searches = self.request.kind == Kind::Search;
        let as_expected = match outcome.code {
            codes::SUCCESS => true,
            codes::SIZE_LIMIT_EXCEEDED => self.request.limited,
            codes::NO_SUCH_OBJECT => searches && self.expect.counts(),
            _ => false,
        };
        let held = asked.checking.end(&self.expect, u64::from(!searches));
        if !as_expected || (outcome.code == codes::NO_SUCH_OBJECT && held.is_err()) {
            return Err(refusal(told, outcome));
        }
        asked.failure.map_or(held.map_err(Reason::Rows), Err)
    }
}

/// What a message means for the operation that it belongs to.
enum Meaning<'a> {
    Entry(Entry<'a>),
    /// Another server is to be asked.
    Elsewhere(&'a [u8]),
    End(Outcome<'a>),
    Nothing,
}

impl<'a> Meaning<'a> {
    #[inline]
    fn of(said: Said<'a>, asked: Kind) -> Result<Meaning<'a>, Error> {
        Ok(match (said, asked) {
            (Said::Entry(entry), Kind::Search) => Meaning::Entry(entry),
            (Said::Reference(mut addresses), Kind::Search) => {
                Meaning::Elsewhere(addresses.next().unwrap_or_default())
            }
            (Said::Done(outcome), Kind::Search)
            | (Said::Modified(outcome), Kind::Modify)
            | (Said::Added(outcome), Kind::Add)
            | (Said::Deleted(outcome), Kind::Delete) => Meaning::End(outcome),
            (Said::Intermediate, _) => Meaning::Nothing,
            _ => return Err(Error::Answer),
        })
    }
}

impl Protocol for Ldap {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.shared.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::ldap::Ldap::default())
    }

    fn conn(&self, target: usize) -> Conn {
        let awaited = VecDeque::with_capacity(self.shared.pipeline);
        Conn { target, messages: Messages::default(), last: 0, awaited, securing: false }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.messages.reset();
        conn.awaited.clear();
        conn.last = 0;
        conn.securing = self.shared.start_tls;
        if conn.securing {
            conn.last += 1;
            start_tls(conn.last, out);
            return Ok(Opening::More);
        }
        if self.shared.targets[conn.target].tls {
            return Ok(Opening::Secure);
        }
        Ok(self.bind(conn, out))
    }

    fn secured(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(self.bind(conn, out))
    }

    fn opening(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        let Some(message) = conn.messages.next(input).map_err(Reason::Ldap)? else {
            return Ok(Opening::More);
        };
        let Message { number, said } = Message::read(message).map_err(Reason::Ldap)?;
        let outcome = match said {
            Said::Extended(outcome, Some(DISCONNECTION)) => outcome,
            _ if number != conn.last => return Err(Reason::Ldap(Error::Number(number))),
            Said::Extended(outcome, _) if conn.securing => outcome,
            Said::Bound(outcome) if !conn.securing => outcome,
            _ => return Err(Reason::Ldap(Error::Answer)),
        };
        if number != conn.last || outcome.code != codes::SUCCESS {
            return Err(refusal(&mut self.told, outcome));
        }
        if !std::mem::take(&mut conn.securing) {
            return Ok(Opening::Ready);
        }
        // What came in the clear must not be taken for what was encrypted.
        if input.is_empty() { Ok(Opening::Secure) } else { Err(Reason::Surplus) }
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
        let Operation { request, expect } = &self.shared.operations[operation];
        conn.last = conn.last % MOST_NUMBERS + 1;
        conn.awaited.push_back(conn.last);
        (asked.operation, asked.number, asked.failure) = (operation, conn.last, None);
        asked.checking.begin(expect, client);
        request.form.write(conn.last, &Bound(client), out);
        Ok(())
    }

    #[inline]
    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        let Ldap { shared, told } = self;
        let operation = &shared.operations[asked.operation];
        loop {
            let before = *input;
            let message = match conn.messages.next(input) {
                Ok(Some(message)) => Message::read(message),
                Ok(None) => return Received::More,
                Err(error) => return Received::Broken(Reason::Ldap(error)),
            };
            let Message { number, said } = match message {
                Ok(message) => message,
                Err(error) => return Received::Broken(Reason::Ldap(error)),
            };
            if number != asked.number {
                match (number, said) {
                    (0, Said::Extended(outcome, Some(DISCONNECTION))) => {
                        return Received::Broken(refusal(told, outcome));
                    }
                    (0, _) => continue,
                    _ => {}
                }
                let Some(turn) = conn.awaited.iter().position(|&awaited| awaited == number) else {
                    return Received::Broken(Reason::Ldap(Error::Number(number)));
                };
                if !conn.messages.again() {
                    *input = before;
                }
                return Received::Of(turn);
            }
            match Meaning::of(said, operation.request.kind) {
                Ok(Meaning::Entry(entry)) => {
                    let cell = |column| operation.cell(&entry, column);
                    asked.checking.row(&operation.expect, &shared.program, cell);
                }
                Ok(Meaning::Elsewhere(address)) => {
                    told.clear();
                    told.extend_from_slice(b"a reference to ");
                    told.extend_from_slice(address);
                    asked.failure.get_or_insert(Reason::Server(Told::new(told)));
                }
                Ok(Meaning::Nothing) => {}
                Ok(Meaning::End(outcome)) => {
                    let verdict = operation.verdict(asked, outcome, told);
                    conn.awaited.retain(|&awaited| awaited != number);
                    return Received::Reply { verdict, keep: true };
                }
                Err(error) => return Received::Broken(Reason::Ldap(error)),
            }
        }
    }

    fn ended(&mut self, conn: &mut Conn, _asked: &mut Asked) -> Received {
        Received::Broken(if conn.messages.is_torn() {
            Reason::CutShort
        } else {
            Reason::Unanswered
        })
    }
}
