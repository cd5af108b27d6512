//! `MySQL`, `MariaDB` and whoever speaks their protocol: Sphinx, Galera, proxies.
//!
//! **Capabilities.** One statement an operation, or a `copy` of many rows, inserted by one
//! statement; `${name}` is a bound parameter of a prepared statement, a list as many as it has
//! elements; `expect.rows`, `expect.first` and `expect.keyed`
//! are checked. Every column of every row is read, as an application would. Each connection
//! prepares its statements as it is opened, so that no transaction pays for it; with
//! `protocol: text` the values are written into the statement instead, which servers without
//! prepared statements need. `mysqls://` is TLS. Passwords are proven by `mysql_native_password`,
//! `caching_sha2_password` or `ed25519`.
//!
//! **Transactions.** One that sends several statements, at least one of them a write, runs between
//! a `BEGIN`, sent together with its first statement, and a `COMMIT`, sent when the last one is
//! answered; both belong to those operations. After a statement that ends a transaction by itself,
//! as `CREATE TABLE` does, the next one begins another. Reads alone run each by itself, as does a
//! transaction that mentions `BEGIN`, `COMMIT` and their like.
//!
//! **Outcomes.** What the server refuses failed, with the server's number, state and words, as did
//! an answer that is not as expected. Where a transaction is open by the server's account, it is
//! rolled back before the operation ends, and the connection goes on.
//!
//! Absent: several statements at once, `LOAD DATA LOCAL`, pipelining, compression.

mod statements;

use std::hint::black_box;
use std::io::Write as _;

use wire::mysql::{
    Account, Answers, Columns, Error, Event, Field, Kind, Login, Packets, Progress, Refusal, Row,
    Session, Table, prepare, query, status,
};

use self::statements::{Operation, Text};
use super::sql::{self, Cell, Checking, Expectation};
use super::target::{Place, Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told, secret};
use crate::error::EngineError;
use crate::net::Fault;
use crate::plan::{Driver, MysqlProtocol, Plan};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, Program};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "mysql", port: 3306, tls: false },
    Scheme { name: "mysqls", port: 3306, tls: true },
];

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Mysql<'p> {
    program: &'p Program,
    targets: Vec<Target>,
    account: Account,
    operations: Vec<Operation>,
    /// What is prepared, by number.
    texts: Vec<Text>,
    /// By index of the transaction: whether it runs between `BEGIN` and `COMMIT`.
    wrapped: Vec<bool>,
    /// Room for a statement sent as text, and for a value of it.
    scratch: Vec<u8>,
    value: Vec<u8>,
}

/// What is remembered of a connection.
pub struct Conn {
    login: Login,
    packets: Packets,
    answers: Answers,
    session: Session,
    in_transaction: bool,
    /// Whether the server tells of transactions that are open, as its answer to a `BEGIN` shows.
    tells: bool,
    /// By number.
    statements: Vec<Statement>,
    /// The number of the statement whose preparation is answered next, once logged in.
    preparing: Option<usize>,
}

/// A statement of a connection.
#[derive(Clone, Default)]
struct Statement {
    /// The server's number for it, once it is prepared.
    id: Option<u32>,
    columns: Columns,
}

/// What is remembered of an operation whose answer is to come.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    /// The statement's number, unless it was sent as text.
    statement: Option<usize>,
    stage: Stage,
    /// Whether the statement is prepared first.
    prepares: bool,
    /// Whether a commit follows.
    commits: bool,
    checking: Checking,
    changed: u64,
    verdict: Option<Reason>,
    /// Columns of a statement sent as text.
    columns: Columns,
    /// The execution that follows a preparation.
    later: Vec<u8>,
    /// Room for values that are told as text.
    shown: [Vec<u8>; 2],
}

/// Which answer is the next to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    Begin,
    Prepare,
    #[default]
    Statement,
    Commit,
    Rollback,
}

impl<'p> Mysql<'p> {
    /// Compiles the Plan's operations; the Plan's driver must be `mysql`.
    pub fn compile(plan: &Plan, program: &'p Program) -> Result<Mysql<'p>, EngineError> {
        let Driver::Mysql { targets, user, password, database, protocol } = &plan.driver else {
            return Err(EngineError::Bug("a Plan for another driver than mysql".into()));
        };
        let text = *protocol == MysqlProtocol::Text;
        let mut texts = Vec::new();
        let operations = program
            .operations()
            .iter()
            .map(|operation| Operation::compile(plan, program, operation, text, &mut texts))
            .collect::<Result<Vec<_>, _>>()?;
        let wrapped = (0..program.transactions().len())
            .map(|index| sql::is_wrapped(program, index, |index| operations[index].effect()));
        let account = Account {
            user: user.clone().into_bytes(),
            password: secret::password(password.as_deref(), program, "driver.password")?,
            database: database.clone().unwrap_or_default().into_bytes(),
        };
        Ok(Mysql {
            program,
            targets: Target::all(targets, SCHEMES)?,
            account,
            wrapped: wrapped.collect(),
            operations,
            texts,
            scratch: Vec::with_capacity(4096),
            value: Vec::new(),
        })
    }

    /// Appends the statements that a connection prepares as it is opened.
    fn prepare(&self, conn: &mut Conn, out: &mut Vec<u8>) -> Opening {
        for text in self.texts.iter().filter(|text| text.at_once) {
            prepare(&text.sql, out);
        }
        self.await_preparation(conn, 0)
    }

    /// Goes to the next statement, from this one on, whose preparation will be answered.
    fn await_preparation(&self, conn: &mut Conn, from: usize) -> Opening {
        let next = (from..self.texts.len()).find(|&number| self.texts[number].at_once);
        conn.preparing = next;
        if next.is_none() {
            return Opening::Ready;
        }
        conn.answers.begin(Kind::Prepare, &mut conn.packets);
        Opening::More
    }

    /// Takes what a connection's preparations come to. One that is refused is prepared again when
    /// it is needed, which may be after what it needs was made, or is told then.
    fn take_preparations(
        &self,
        conn: &mut Conn,
        mut number: usize,
        input: &mut &[u8],
    ) -> Result<Opening, Reason> {
        loop {
            let Statement { id, columns } = &mut conn.statements[number];
            match conn.answers.next(columns, &mut conn.packets, input).map_err(Reason::MySql)? {
                Event::More => return Ok(Opening::More),
                Event::Onward => continue,
                Event::Prepared(prepared) => *id = Some(prepared.statement),
                Event::Refused(_) => *id = None,
                Event::Row(_) | Event::Done(_) => return Err(Reason::Surplus),
            }
            if self.await_preparation(conn, number + 1) == Opening::Ready {
                return Ok(Opening::Ready);
            }
            number = conn.preparing.unwrap_or(number);
        }
    }
}

impl Protocol for Mysql<'_> {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::Mysql::new(Table::new(&["id", "name"], &[(1, "one")])))
    }

    fn conn(&self, target: usize) -> Conn {
        let Target { place, tls, .. } = &self.targets[target];
        Conn {
            login: Login::new(*tls, matches!(place, Place::Unix(_))),
            packets: Packets::default(),
            answers: Answers::default(),
            session: Session::default(),
            in_transaction: false,
            tells: false,
            statements: vec![Statement::default(); self.texts.len()],
            preparing: None,
        }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, _out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.login.restart();
        conn.packets.restart(0);
        conn.preparing = None;
        conn.in_transaction = false;
        for statement in &mut conn.statements {
            statement.id = None;
        }
        Ok(Opening::More)
    }

    fn secured(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.login.secured(&self.account, out).map_err(Reason::MySql)?;
        Ok(Opening::More)
    }

    fn opening(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        while !input.is_empty() {
            if let Some(number) = conn.preparing {
                return self.take_preparations(conn, number, input);
            }
            let progress = conn.login.next(&self.account, &mut conn.packets, input, out);
            match progress.map_err(Reason::MySql)? {
                Progress::More => {}
                Progress::Secure => return Ok(Opening::Secure),
                Progress::Refused(refusal) => return Err(told(&refusal)),
                Progress::Done(session) => {
                    conn.session = session;
                    conn.answers.restart(session);
                    if self.prepare(conn, out) == Opening::Ready {
                        return Ok(Opening::Ready);
                    }
                }
            }
        }
        Ok(Opening::More)
    }

    fn encode(
        &mut self,
        conn: &mut Conn,
        asked: &mut Asked,
        index: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let operation = &self.operations[index];
        asked.operation = index;
        asked.checking.begin(&operation.expect, client);
        (asked.verdict, asked.changed) = (None, 0);
        let wrapped = self.wrapped[operation.transaction];
        // Some statements, as CREATE TABLE, end a transaction; what follows is in one again.
        let ended = conn.tells && !conn.in_transaction;
        let begins = wrapped && (ended || self.program.is_first(client));
        asked.commits = wrapped && self.program.is_last(client);
        if begins {
            query(b"BEGIN", out);
        }
        asked.prepares = false;
        if operation.as_text {
            asked.statement = None;
            let backslashes = conn.session.status & status::NO_BACKSLASH == 0;
            let scratch = (&mut self.scratch, &mut self.value);
            operation.query((self.program, index), client, backslashes, scratch, out);
        } else {
            let number = operation.statement(client);
            asked.statement = Some(number);
            if let Some(id) = conn.statements[number].id {
                operation.execute(id, client, out);
            } else {
                prepare(&self.texts[number].sql, out);
                asked.prepares = true;
                asked.later.clear();
                operation.execute(0, client, &mut asked.later);
            }
        }
        if begins {
            asked.await_answer(conn, Stage::Begin);
        } else {
            asked.await_statement(conn);
        }
        Ok(())
    }

    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        loop {
            let prepared = matches!(asked.stage, Stage::Prepare | Stage::Statement);
            let columns = match asked.statement {
                Some(number) if prepared => &mut conn.statements[number].columns,
                _ => &mut asked.columns,
            };
            let event = match conn.answers.next(columns, &mut conn.packets, input) {
                Ok(event) => event,
                Err(error) => return Received::Broken(Reason::MySql(error)),
            };
            let ended = match event {
                Event::More => return Received::More,
                Event::Onward => continue,
                Event::Row(row) => {
                    let expect = &self.operations[asked.operation].expect;
                    let taken = take_row(
                        row,
                        columns,
                        (self.program, expect),
                        &mut asked.checking,
                        &mut asked.shown,
                    );
                    match taken {
                        Ok(()) => continue,
                        Err(error) => return Received::Broken(Reason::MySql(error)),
                    }
                }
                Event::Done(done) => {
                    conn.in_transaction = done.in_transaction();
                    if asked.stage == Stage::Begin {
                        conn.tells = conn.in_transaction;
                    }
                    asked.changed += done.affected;
                    if done.more_follow() {
                        continue;
                    }
                    Ok(())
                }
                Event::Prepared(prepared) => {
                    let id = prepared.statement;
                    if let Some(number) = asked.statement {
                        conn.statements[number].id = Some(id);
                    }
                    if let Some(place) = asked.later.get_mut(EXECUTED_ID) {
                        place.copy_from_slice(&id.to_le_bytes());
                    }
                    Ok(())
                }
                Event::Refused(refusal) => Err(told(&refusal)),
            };
            let expect = &self.operations[asked.operation].expect;
            if let Some(received) = asked.end_stage(conn, expect, ended) {
                return received;
            }
        }
    }

    fn further(&mut self, conn: &mut Conn, asked: &mut Asked, out: &mut Vec<u8>) {
        match asked.stage {
            Stage::Statement => out.extend_from_slice(&asked.later),
            Stage::Commit => query(b"COMMIT", out),
            Stage::Rollback => query(b"ROLLBACK", out),
            Stage::Begin | Stage::Prepare => {}
        }
        asked.await_answer(conn, asked.stage);
    }

    fn ended(&mut self, _conn: &mut Conn, _asked: &mut Asked) -> Received {
        Received::Broken(Reason::Fault(Fault::Closed))
    }
}

/// Where the server's number of the statement stands in an execution.
const EXECUTED_ID: std::ops::Range<usize> = 5..9;

impl Asked {
    fn await_answer(&mut self, conn: &mut Conn, stage: Stage) {
        self.stage = stage;
        let kind = match stage {
            Stage::Prepare => Kind::Prepare,
            Stage::Statement if self.statement.is_some() => Kind::Execute,
            _ => Kind::Text,
        };
        conn.answers.begin(kind, &mut conn.packets);
    }

    fn await_statement(&mut self, conn: &mut Conn) {
        let stage = if self.prepares { Stage::Prepare } else { Stage::Statement };
        self.await_answer(conn, stage);
    }

    /// One of the operation's answers is whole; `None` when the next has been asked for already.
    fn end_stage(
        &mut self,
        conn: &mut Conn,
        expect: &Expectation,
        ended: Result<(), Reason>,
    ) -> Option<Received> {
        let keep = ended.is_ok();
        self.verdict = self.verdict.or(ended.err());
        match self.stage {
            Stage::Begin => {
                self.await_statement(conn);
                return None;
            }
            Stage::Prepare if self.verdict.is_none() => {
                self.stage = Stage::Statement;
                return Some(Received::Further);
            }
            Stage::Statement => {
                let checked = self.checking.end(expect, self.changed);
                self.verdict = self.verdict.or(checked.err().map(Reason::Rows));
            }
            Stage::Rollback => return Some(Received::Reply { verdict: self.verdict(), keep }),
            Stage::Prepare | Stage::Commit => {}
        }
        if self.verdict.is_some() && conn.in_transaction {
            self.stage = Stage::Rollback;
            return Some(Received::Further);
        }
        if self.verdict.is_none() && self.commits && self.stage != Stage::Commit {
            self.stage = Stage::Commit;
            return Some(Received::Further);
        }
        Some(Received::Reply { verdict: self.verdict(), keep: true })
    }

    fn verdict(&self) -> Result<(), Reason> {
        self.verdict.map_or(Ok(()), Err)
    }
}

/// Reads every column of a row, and holds it against what is expected.
#[inline]
fn take_row(
    row: Row<'_>,
    columns: &Columns,
    (program, expect): (&Program, &Expectation),
    checking: &mut Checking,
    shown: &mut [Vec<u8>; 2],
) -> Result<(), Error> {
    let mut fields = [None; 2];
    for (index, field) in row.fields(columns).enumerate() {
        let field = black_box(field?);
        if index < expect.columns() {
            fields[index] = Some(field);
            show(field, &mut shown[index]);
        }
    }
    let cell = |index: usize| fields[index].map(|field| cell(field, &shown[index]));
    checking.row(expect, program, cell);
    Ok(())
}

/// Writes what is no number, text or bytes as the text protocol does.
fn show(field: Field<'_>, out: &mut Vec<u8>) {
    out.clear();
    let written = match field {
        Field::Time(time) => write!(out, "{time}"),
        Field::Single(single) => write!(out, "{single}"),
        Field::Unsigned(number) => write!(out, "{number}"),
        _ => Ok(()),
    };
    written.expect("a vector takes all bytes");
}

fn cell<'a>(field: Field<'a>, shown: &'a [u8]) -> Cell<'a> {
    match field {
        Field::Null => Cell::Null,
        Field::Integer(integer) => Cell::Integer(integer),
        Field::Unsigned(number) => i64::try_from(number).map_or(Cell::Text(shown), Cell::Integer),
        Field::Real(real) => Cell::Real(real),
        Field::Text(text) => Cell::Text(text),
        Field::Single(_) | Field::Time(_) => Cell::Text(shown),
    }
}

/// The server's number, state and words, as far as they fit.
fn told(refusal: &Refusal<'_>) -> Reason {
    let mut line = std::io::Cursor::new([0; 160]);
    let state = std::str::from_utf8(&refusal.state).unwrap_or("?");
    // What does not fit is cut off.
    let _fits = write!(line, "{} ({state}): ", refusal.code);
    let _fits = line.write_all(refusal.message);
    let length = line.position() as usize;
    Reason::Server(Told::new(&line.get_ref()[..length]))
}
