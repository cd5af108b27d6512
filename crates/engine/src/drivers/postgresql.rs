//! `PostgreSQL`, and what speaks its protocol: operations become statements, answers verdicts.
//!
//! **Capabilities.** One statement an operation, or a `copy` of many rows; `${name}` is bound as a
//! parameter; `expect.rows`, `expect.first` and `expect.keyed` are checked. Log-in by trust,
//! password, MD5 or SCRAM-SHA-256, encrypted where the target's scheme is `postgresqls`. Of a
//! Plan's `pipeline` only transactions of a single operation can make use.
//!
//! **Statements.** With `protocol: extended` each is prepared by name while the connection opens,
//! with whole numbers, floating-point numbers and bytes bound in binary, and run by Bind, Execute
//! and Sync. A list is as many parameters as it has elements, so that `IN (${list})` means what it
//! says: each length is a statement of its own, prepared at its first use where the length varies,
//! up to [`Prepared::MOST`] of them a connection, and anew each time beyond. What cannot be
//! prepared yet, its table not being there, is prepared at its first use too. With `protocol:
//! simple` values are written into the text as literals: what a pooler needs that lends the
//! server's connections by the transaction and does not keep track of prepared statements.
//!
//! **Transactions.** As with `SQLite`, one that sends several statements, a write among them, runs
//! between `BEGIN`, sent along with its first operation, and `COMMIT`, sent when its last is
//! answered rightly; their times belong to those operations. Whatever fails within a transaction
//! is rolled back before its operation ends, so that the connection is of use. A transaction that
//! leaves the server's open fails.
//!
//! Absent: cursors, COPY to the client, notifications, cancelling.

mod opening;
mod statement;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use wire::postgresql::{
    Answer, Complaint, Error, Login, Message, Messages, Row, Status, affected, ask,
};

use self::opening::Stage;
use self::statement::{Column, Prepared, Statement};
use super::sql::{self, Cell, Checking, Effect, Expectation};
use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told, secret};
use crate::error::PlanError;
use crate::plan::{Driver, Plan, SqlProtocol};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, Program};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "postgresql", port: 5432, tls: false },
    Scheme { name: "postgresqls", port: 5432, tls: true },
];

/// No prepared statement of that name, or one already: what a server says whose connections a
/// pooler lends by the transaction.
const MIXED_UP: &[&[u8]] = &[b"26000", b"42P05"];
/// What to do about it.
const POOLED: &[u8] = b"; a pooler needs protocol=simple";

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Postgresql {
    shared: Arc<Shared>,
    /// The name of the statement being asked, and lengths of its lists.
    name: String,
    lengths: Vec<usize>,
    /// Bytes on their way from one form to another.
    room: Vec<u8>,
}

/// What was compiled once for all workers.
struct Shared {
    targets: Vec<Target>,
    startup: Vec<u8>,
    user: Vec<u8>,
    password: Option<Vec<u8>>,
    protocol: SqlProtocol,
    /// What the names of statements begin with. It follows from their texts: a pooler may hand on
    /// a connection with what another Plan has prepared, which is not to be taken for this one's.
    prefix: String,
    program: Program,
    operations: Vec<Operation>,
}

struct Operation {
    statement: Statement,
    expect: Expectation,
    /// Whether the driver adds the transaction's beginning and end.
    wrapped: bool,
}

/// What is remembered of a connection.
pub struct Conn {
    target: usize,
    messages: Messages,
    stage: Stage,
    login: Login,
    status: Status,
    /// By operation.
    prepared: Vec<Prepared>,
}

/// What is remembered of an operation.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    phase: Phase,
    /// How often the server must still say that it is ready.
    readies: u32,
    /// How many statements stand before the operation's own.
    before: u32,
    /// Whether the operation's own statement is done, and how many rows its end spoke of.
    done: Option<u64>,
    /// Whether the statement is prepared on the way, and with what lists.
    preparing: Option<Vec<usize>>,
    /// The columns that are looked at.
    columns: [Column; 2],
    /// Whether the operation begins its transaction, or ends it.
    is_last: bool,
    checking: Checking,
    failure: Option<Reason>,
}

/// What an answer is to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Request,
    Commit,
    Rollback,
}

impl Postgresql {
    /// Compiles the Plan's operations; the Plan's driver must be `postgresql`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Postgresql, PlanError> {
        let Driver::Postgresql { targets, user, password, database, protocol } = &plan.driver
        else {
            return Err(PlanError::new("driver", "", "this is not `postgresql`"));
        };
        let targets = Target::all(targets, SCHEMES)?;
        let secret = secret::password(password.as_deref(), program, "driver.password")?;
        let startup = opening::startup(user, database.as_deref())?;
        let mut operations = Vec::new();
        for operation in program.operations() {
            let statement = Statement::compile(program, operation)?;
            let expect = Expectation::compile(program, operation)?;
            operations.push(Operation { statement, expect, wrapped: false });
        }
        let effects: Vec<Effect> = operations.iter().map(|o| o.statement.effect()).collect();
        for (index, transaction) in program.transactions().iter().enumerate() {
            let wrapped = sql::is_wrapped(program, index, |operation| effects[operation]);
            let range = transaction.operations.clone();
            let several = range.len() > 1 || program.operations()[range.start].is_stepped();
            if plan.pipeline > 1 && several {
                let why =
                    format!("`{}` sends several requests one after another", transaction.name);
                return Err(PlanError::new("pipeline", plan.pipeline.to_string(), why));
            }
            range.for_each(|operation| operations[operation].wrapped = wrapped);
        }
        let shared = Shared {
            targets,
            startup,
            user: user.clone().into_bytes(),
            password: password.as_ref().map(|_| secret),
            protocol: *protocol,
            prefix: prefix(&operations),
            program: program.clone(),
            operations,
        };
        let (name, lengths, room) = (String::new(), Vec::new(), Vec::new());
        Ok(Postgresql { shared: Arc::new(shared), name, lengths, room })
    }

    /// The server's words, as far as they fit.
    fn told(&mut self, complaint: Complaint<'_>) -> Reason {
        told(complaint, &mut self.room)
    }
}

fn prefix(operations: &[Operation]) -> String {
    let mut hasher = DefaultHasher::new();
    for operation in operations {
        if let Statement::Sql { sql, most } = &operation.statement {
            sql.text(most).hash(&mut hasher);
        }
    }
    format!("s{:08x}_", hasher.finish() as u32)
}

fn told(complaint: Complaint<'_>, room: &mut Vec<u8>) -> Reason {
    room.clear();
    room.extend_from_slice(complaint.code);
    room.extend_from_slice(b": ");
    room.extend_from_slice(complaint.message);
    if MIXED_UP.contains(&complaint.code) {
        room.extend_from_slice(POOLED);
    }
    Reason::Server(Told::new(room))
}

impl Protocol for Postgresql {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.shared.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::Postgresql::new(Answer::new(1, &[b"1"])))
    }

    fn conn(&self, target: usize) -> Conn {
        Conn {
            target,
            messages: Messages::default(),
            stage: Stage::LogIn,
            login: Login::default(),
            status: Status::Idle,
            prepared: Vec::new(),
        }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(self.begin(conn, out))
    }

    fn secured(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(self.log_in(conn, out))
    }

    fn opening(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        self.go_on(conn, input, out)
    }

    #[inline]
    fn encode(
        &mut self,
        conn: &mut Conn,
        asked: &mut Asked,
        index: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        let shared = &*self.shared;
        let operation = &shared.operations[index];
        asked.begin(index, shared.program.is_last(client));
        asked.checking.begin(&operation.expect, client);
        if operation.wrapped && shared.program.is_first(client) {
            asked.command(b"BEGIN", out)?;
            asked.before = 1;
        }
        let written = match (&operation.statement, shared.protocol) {
            (Statement::Copy(copy), _) => {
                asked.readies += 1;
                copy.write(&shared.program, index, client, &mut self.room, out)
            }
            (Statement::Sql { sql, .. }, SqlProtocol::Simple) => {
                asked.readies += 1;
                ask::query(out, |out| statement::write_literals(sql, client, out))
            }
            (Statement::Sql { .. }, SqlProtocol::Extended) => {
                self.encode_prepared(conn, asked, client, out)
            }
        };
        written.map_err(Reason::Postgresql)
    }

    #[inline]
    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        let shared = &*self.shared;
        let operation = &shared.operations[asked.operation];
        loop {
            let message = match conn.messages.next(input) {
                Ok(Some(message)) => message,
                Ok(None) => return Received::More,
                Err(error) => return Received::Broken(Reason::Postgresql(error)),
            };
            match message {
                Message::Row(row) if asked.before == 0 && asked.done.is_none() => {
                    asked.row(row, operation, &shared.program, &mut self.room);
                }
                Message::Complete(_) | Message::Empty if asked.before > 0 => asked.before -= 1,
                Message::Complete(tag) => _ = asked.done.get_or_insert(affected(tag)),
                Message::Empty => _ = asked.done.get_or_insert(0),
                Message::Ready(status) => {
                    conn.status = status;
                    asked.readies -= 1;
                    if asked.readies == 0 {
                        return asked.settle(conn, operation);
                    }
                }
                Message::Error(complaint) => {
                    let reason = told(complaint, &mut self.room);
                    if complaint.fatal {
                        return Received::Broken(reason);
                    }
                    asked.failure.get_or_insert(reason);
                }
                Message::Parameters(types) => {
                    if let Some(lengths) = &asked.preparing {
                        let prepared = &mut conn.prepared[asked.operation];
                        prepared.learn_types(types.iter(), &operation.statement, lengths);
                    }
                }
                Message::Columns(columns) => {
                    asked.columns = Column::of(columns.types());
                    if asked.preparing.is_some() {
                        conn.prepared[asked.operation].learn_columns(columns.types());
                    }
                }
                Message::ParseComplete => {
                    if let Some(lengths) = &asked.preparing {
                        conn.prepared[asked.operation].keep(lengths, &operation.statement);
                    }
                }
                Message::BindComplete
                | Message::NoData
                | Message::Aside
                | Message::CopyIn
                | Message::Row(_) => {}
                Message::Authentication(_) | Message::CloseComplete | Message::Suspended => {
                    return Received::Broken(Reason::Postgresql(Error::OutOfPlace));
                }
            }
        }
    }

    fn further(&mut self, _conn: &mut Conn, asked: &mut Asked, out: &mut Vec<u8>) {
        let command: &[u8] = if asked.phase == Phase::Commit { b"COMMIT" } else { b"ROLLBACK" };
        asked.command(command, out).expect("neither has a zero byte");
    }

    fn ended(&mut self, conn: &mut Conn, asked: &mut Asked) -> Received {
        let within = conn.messages.is_torn() || asked.done.is_some();
        let error = if within { Error::ClosedWithin } else { Error::ClosedBefore };
        Received::Broken(Reason::Postgresql(error))
    }
}

impl Postgresql {
    /// Bind, Execute and Sync, behind Parse and Describe where the statement is not prepared yet.
    #[inline]
    fn encode_prepared(
        &mut self,
        conn: &mut Conn,
        asked: &mut Asked,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let index = asked.operation;
        let Statement::Sql { sql, most } = &self.shared.operations[index].statement else {
            return Err(Error::OutOfPlace);
        };
        self.lengths.clear();
        self.lengths.extend(sql.lists().map(|list| statement::length(list, client)));
        let prepared = &conn.prepared[index];
        self.name.clone_from(&self.shared.prefix);
        let known = prepared.name(index, &self.lengths, most, &mut self.name);
        if !known {
            ask::parse(&self.name, sql.text(&self.lengths).as_bytes(), out)?;
            if !prepared.is_known {
                ask::describe(&self.name, out)?;
            }
            asked.preparing = Some(self.lengths.clone());
        }
        asked.columns = prepared.columns;
        asked.readies += 1;
        prepared.bind(&self.name, sql, client, out)?;
        ask::execute(out);
        ask::sync(out);
        Ok(())
    }
}

impl Asked {
    fn begin(&mut self, operation: OperationIndex, is_last: bool) {
        (self.operation, self.is_last) = (operation, is_last);
        (self.phase, self.readies, self.before) = (Phase::Request, 0, 0);
        (self.done, self.preparing, self.failure) = (None, None, None);
    }

    fn command(&mut self, command: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        self.readies += 1;
        ask::query(out, |out| out.extend_from_slice(command)).map_err(Reason::Postgresql)
    }

    #[inline]
    fn row(&mut self, row: Row<'_>, operation: &Operation, program: &Program, room: &mut Vec<u8>) {
        let expect = &operation.expect;
        if expect.columns() == 0 {
            self.checking.row(expect, program, |_| None);
            return;
        }
        let mut values = row.values();
        let pair = [values.next(), values.next()];
        // Bytes that came as text are bytes again here, the second column behind the first.
        room.clear();
        for (value, column) in pair.iter().zip(self.columns) {
            if let (Some(Some(text)), Column::Hexadecimal) = (value, column) {
                statement::from_hexadecimal(text, room);
            }
        }
        let first = match (pair[0], self.columns[0]) {
            (Some(Some(text)), Column::Hexadecimal) => text.len().saturating_sub(2) / 2,
            _ => 0,
        };
        let halves = room.split_at(first.min(room.len()));
        let cell = |place: usize| {
            let decoded = if place == 0 { halves.0 } else { halves.1 };
            let value = (*pair.get(place)?)?;
            Some(value.map_or(Cell::Null, |bytes| self.columns[place].cell(bytes, decoded)))
        };
        let cells = [cell(0), cell(1)];
        self.checking.row(expect, program, |place| cells.get(place).copied().flatten());
    }

    /// The server has said all it had to say: the answer is whole, or the transaction's end is to
    /// be asked for.
    fn settle(&mut self, conn: &Conn, operation: &Operation) -> Received {
        let idle = conn.status == Status::Idle;
        match self.phase {
            Phase::Request => {
                if self.failure.is_none() {
                    self.failure = match self.done {
                        Some(changed) => {
                            self.checking.end(&operation.expect, changed).err().map(Reason::Rows)
                        }
                        None => return Received::Broken(Reason::Postgresql(Error::OutOfPlace)),
                    };
                }
                let commits = operation.wrapped && self.is_last;
                if self.failure.is_none() && commits {
                    self.phase = Phase::Commit;
                    return Received::Further;
                }
                if self.failure.is_none() && self.is_last && !idle {
                    self.failure = Some(Reason::LeftOpen);
                }
                if self.failure.is_some() && !idle {
                    self.phase = Phase::Rollback;
                    return Received::Further;
                }
            }
            Phase::Commit | Phase::Rollback => {}
        }
        Received::Reply { verdict: self.failure.map_or(Ok(()), Err), keep: idle || !self.is_last }
    }
}
