//! `SQLite` within the agent's process: a connection a client, answering on the client's thread.
//!
//! **Capabilities.** One statement an operation; `${name}` is bound as a parameter, a list as
//! many as it has elements; `expect.rows`, `expect.first` and `expect.keyed` are checked. Every
//! column of every row is read, as an application would. Statements are prepared once for each
//! text.
//!
//! **Transactions.** One that sends several statements (by `for_each` or several operations), at
//! least one of them a write, runs between `BEGIN IMMEDIATE` and `COMMIT`, whose time belongs to
//! its first and last operation: an application that writes several rows for one action would do
//! so, and taking the write lock first keeps two clients from deadlocking. Reads alone run each
//! by itself, as does a transaction that mentions `BEGIN`, `COMMIT`, `SAVEPOINT` and their like.
//!
//! **Outcomes.** A statement interrupted at the time-out, or that waited so long for a lock,
//! timed out; any other refusal, a deadlock that `SQLite` ends at once among them, failed with
//! `SQLite`'s message. After either the transaction is rolled back. A wait for a lock is like
//! `SQLite`'s own: it sleeps from 1 ms up to 100 ms between tries; but a trial that is broken off
//! ends it, which `SQLite`'s own does not know. An answer that came, but late,
//! is the caller's to judge, who knows when it was sent.
//!
//! Absent: threads, and any clock but for time-outs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use base::clock::monotonic_ns;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, Statement, ffi};
use tally::Outcome;

use super::sql::{self, Cell, Checking, Dialect, Expectation, Sql, Wrong};
use super::{Answer, InProcess};
use crate::error::{EngineError, HostError, PlanError};
use crate::plan::{Driver, Plan};
use crate::template::Values;
use crate::values::Drawn;
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// How many of `SQLite`'s instructions pass between two looks at the clock: some 50 µs of work.
const INSTRUCTIONS_BETWEEN_LOOKS: i32 = 4096;
/// How long the sleeps between tries for a lock are, as in `SQLite`'s own handler; the last stays.
const NAPS_MS: [i64; 12] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100];

/// The driver, compiled and shared by all clients.
#[derive(Clone, Debug)]
pub struct Sqlite {
    path: String,
    pragmas: BTreeMap<String, String>,
    timeout_ns: i64,
    operations: Vec<Operation>,
    /// By index of the transaction: whether it runs between `BEGIN` and `COMMIT`.
    wrapped: Vec<bool>,
    /// Whether every call is to end now.
    broken_off: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
struct Operation {
    transaction: usize,
    sql: Sql,
    expect: Expectation,
}

impl Sqlite {
    /// Compiles the Plan's operations; the Plan's driver must be `sqlite`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Sqlite, EngineError> {
        let Driver::Sqlite { path, pragmas } = &plan.driver else {
            return Err(EngineError::Bug("a Plan for another driver than sqlite".into()));
        };
        let empty = Connection::open_in_memory()
            .map_err(|error| EngineError::Bug(format!("SQLite in memory: {error}")))?;
        check_pragmas(pragmas, &empty)?;
        let operations = program
            .operations()
            .iter()
            .map(|operation| Operation::compile(operation, program, &empty))
            .collect::<Result<Vec<_>, _>>()?;
        let wrapped = (0..program.transactions().len())
            .map(|index| sql::is_wrapped(program, index, |index| operations[index].sql.effect));
        Ok(Sqlite {
            path: path.clone(),
            pragmas: pragmas.clone(),
            timeout_ns: i64::try_from(plan.timeout_ns).unwrap_or(i64::MAX),
            wrapped: wrapped.collect(),
            operations,
            broken_off: Arc::default(),
        })
    }

    /// Opens a client's connection, on the client's thread.
    pub fn connect(&self) -> Result<Link, HostError> {
        let host = |error: rusqlite::Error| {
            HostError::new(
                format!("the database `{}` cannot be opened: {error}", self.path),
                "name a file in a folder that exists and may be written",
            )
        };
        let mut connection = Connection::open(&self.path).map_err(host)?;
        let deadline_ns = monotonic_ns().saturating_add(self.timeout_ns);
        let deadline_ns = Arc::new(AtomicI64::new(deadline_ns));
        let (watched, broken_off) = (Arc::clone(&deadline_ns), Arc::clone(&self.broken_off));
        let wait = move |tries: i32| {
            let left_ns = watched.load(Ordering::Relaxed).saturating_sub(monotonic_ns());
            let goes_on = left_ns > 0 && !broken_off.load(Ordering::Relaxed);
            if goes_on {
                let nap_ms = NAPS_MS[(tries as usize).min(NAPS_MS.len() - 1)];
                std::thread::sleep(Duration::from_nanos(left_ns.min(nap_ms * 1_000_000) as u64));
            }
            goes_on
        };
        connection.busy_handler(Some(wait)).map_err(host)?;
        for (name, value) in &self.pragmas {
            self.set(&connection, name, value)?;
        }
        let (watched, broken_off) = (Arc::clone(&deadline_ns), Arc::clone(&self.broken_off));
        let is_over = move || {
            monotonic_ns() > watched.load(Ordering::Relaxed) || broken_off.load(Ordering::Relaxed)
        };
        connection.progress_handler(INSTRUCTIONS_BETWEEN_LOOKS, Some(is_over)).map_err(host)?;
        Ok(Link { connection, deadline_ns })
    }

    /// Ends, from any thread, every call that is waited in and every later one that takes long.
    pub fn break_off(&self) {
        self.broken_off.store(true, Ordering::Relaxed);
    }

    fn set(&self, connection: &Connection, name: &str, value: &str) -> Result<(), HostError> {
        let set = |error: rusqlite::Error| {
            HostError::new(
                format!("`PRAGMA {name} = {value}` on `{}`: {error}", self.path),
                "choose a value that this database takes",
            )
        };
        let mut kept = None;
        connection
            .pragma_update_and_check(None, name, value, |row| {
                kept = row.get::<_, String>(0).ok();
                Ok(())
            })
            .or_else(|error| match error {
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                error => Err(error),
            })
            .map_err(set)?;
        match kept {
            // SQLite answers with the mode it kept where it cannot have the one asked for.
            Some(kept) if name == "journal_mode" && !kept.eq_ignore_ascii_case(value) => {
                Err(HostError::new(
                    format!("`{}` keeps the journal mode `{kept}`, not `{value}`", self.path),
                    "choose a mode that this file system and database take",
                ))
            }
            _ => Ok(()),
        }
    }

    /// A client's use of its connection.
    pub fn session<'a>(&'a self, link: &'a Link) -> Session<'a> {
        Session {
            driver: self,
            link,
            statements: self.operations.iter().map(|_| Prepared::default()).collect(),
            lengths: Vec::new(),
            checking: Checking::default(),
            why: String::new(),
        }
    }
}

/// A client's connection.
pub struct Link {
    connection: Connection,
    /// When the statement in progress times out, by the monotonic clock.
    deadline_ns: Arc<AtomicI64>,
}

impl Operation {
    fn compile(
        operation: &OperationInfo,
        program: &Program,
        empty: &Connection,
    ) -> Result<Operation, PlanError> {
        let sql = Sql::compile(program, operation, Dialect::Sqlite)?;
        check_syntax(&sql, &format!("{}.request.sql", operation.field), empty)?;
        let expect = Expectation::compile(program, operation)?;
        Ok(Operation { transaction: operation.transaction, sql, expect })
    }
}

/// `SQLite` takes a pragma it does not know without a word, so that a slip would measure another
/// configuration than the one asked for.
fn check_pragmas(
    pragmas: &BTreeMap<String, String>,
    empty: &Connection,
) -> Result<(), EngineError> {
    let bug = |error: rusqlite::Error| EngineError::Bug(error.to_string());
    let mut statement = empty.prepare("SELECT name FROM pragma_pragma_list").map_err(bug)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(bug)?;
    let known = names.collect::<Result<Vec<String>, _>>().map_err(bug)?;
    for (name, value) in pragmas {
        if !known.iter().any(|known| known == name) {
            let field = format!("driver.pragmas.{name}");
            let error = PlanError::new(field, value, "SQLite knows no such pragma")
                .nearest_to(name, known.iter().map(String::as_str));
            return Err(error.into());
        }
    }
    Ok(())
}

/// Whether `SQLite` can parse the statement, which needs no table to be there.
fn check_syntax(sql: &Sql, field: &str, empty: &Connection) -> Result<(), PlanError> {
    let text = sql.text(&vec![1; sql.lists().count()]);
    let complaint = empty.prepare(&text).err().map(|error| error.to_string());
    let wrong = ["syntax error", "incomplete input", "unrecognized token"];
    match complaint {
        Some(why) if wrong.iter().any(|wrong| why.contains(wrong)) => {
            Err(PlanError::new(field, text, why))
        }
        _ => Ok(()),
    }
}

/// One client's connection with its prepared statements.
pub struct Session<'a> {
    driver: &'a Sqlite,
    link: &'a Link,
    /// By operation.
    statements: Vec<Prepared<'a>>,
    lengths: Vec<usize>,
    checking: Checking,
    why: String,
}

/// An operation's statements: one for each combination of list lengths.
#[derive(Default)]
struct Prepared<'a> {
    without_lists: Option<Statement<'a>>,
    by_lengths: HashMap<Vec<usize>, Statement<'a>>,
}

impl<'a> Prepared<'a> {
    fn get(
        &mut self,
        connection: &'a Connection,
        sql: &Sql,
        lengths: &[usize],
    ) -> rusqlite::Result<&mut Statement<'a>> {
        if lengths.is_empty() {
            let kept = self.without_lists.take();
            let statement = kept.map_or_else(|| connection.prepare(&sql.text(lengths)), Ok)?;
            return Ok(self.without_lists.insert(statement));
        }
        if !self.by_lengths.contains_key(lengths) {
            self.by_lengths.insert(lengths.to_vec(), connection.prepare(&sql.text(lengths))?);
        }
        Ok(self.by_lengths.get_mut(lengths).expect("prepared above"))
    }
}

/// Why an operation did not end ok.
enum Trouble {
    Refused(rusqlite::Error),
    Wrong(Wrong),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::Refused(error)
    }
}

impl InProcess for Session<'_> {
    fn answer(
        &mut self,
        operation: OperationIndex,
        program: &Program,
        client: &Client,
    ) -> Answer<'_> {
        let deadline_ns = monotonic_ns().saturating_add(self.driver.timeout_ns);
        self.link.deadline_ns.store(deadline_ns, Ordering::Relaxed);
        self.why.clear();
        let outcome = match self.ask(operation, program, client) {
            Ok(()) => Outcome::Ok,
            Err(trouble) => self.give_up(trouble, deadline_ns),
        };
        Answer { outcome, why: &self.why, moved: (0, 0) }
    }
}

impl Session<'_> {
    fn ask(
        &mut self,
        index: OperationIndex,
        program: &Program,
        client: &Client,
    ) -> Result<(), Trouble> {
        let wrapped = self.driver.wrapped[self.driver.operations[index].transaction];
        if wrapped && program.is_first(client) {
            self.link.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        }
        self.run(index, program, client)?;
        if wrapped && program.is_last(client) {
            self.link.connection.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }

    /// Runs the statement and checks its answer.
    fn run(
        &mut self,
        index: OperationIndex,
        program: &Program,
        client: &Client,
    ) -> Result<(), Trouble> {
        let operation = &self.driver.operations[index];
        self.lengths.clear();
        self.lengths.extend(operation.sql.lists().map(|list| match client.drawn(list) {
            Drawn::List(elements) => elements.len(),
            _ => 1,
        }));
        let connection = &self.link.connection;
        let statement = self.statements[index].get(connection, &operation.sql, &self.lengths)?;
        bind(statement, &operation.sql, client)?;
        self.checking.begin(&operation.expect, client);
        let changed = if statement.column_count() == 0 {
            statement.raw_execute()? as u64
        } else {
            read(statement, &operation.expect, program, &mut self.checking)?;
            0
        };
        self.checking.end(&operation.expect, changed).map_err(Trouble::Wrong)
    }

    /// Rolls back, and says how and why the operation ended.
    fn give_up(&mut self, trouble: Trouble, deadline_ns: i64) -> Outcome {
        self.link.deadline_ns.store(i64::MAX, Ordering::Relaxed);
        let outcome = match trouble {
            Trouble::Wrong(why) => {
                self.why = why.to_string();
                Outcome::Failed
            }
            Trouble::Refused(error) => {
                self.why = error.to_string();
                match error.sqlite_error() {
                    Some(ffi::Error { code: ErrorCode::OperationInterrupted, .. }) => {
                        Outcome::TimedOut
                    }
                    Some(ffi::Error { code: ErrorCode::DatabaseBusy, .. })
                        if monotonic_ns() >= deadline_ns =>
                    {
                        Outcome::TimedOut
                    }
                    _ => Outcome::Failed,
                }
            }
        };
        if !self.link.connection.is_autocommit()
            && let Err(error) = self.link.connection.execute("ROLLBACK", [])
        {
            self.why = format!("{}; and rolling back: {error}", self.why);
        }
        outcome
    }
}

fn bind(statement: &mut Statement<'_>, sql: &Sql, client: &Client) -> rusqlite::Result<()> {
    let mut parameter = 0;
    let mut one = |value: ValueRef<'_>| {
        parameter += 1;
        statement.raw_bind_parameter(parameter, ToSqlOutput::Borrowed(value))
    };
    for id in sql.values() {
        match client.drawn(id) {
            Drawn::Integer(integer) => one(ValueRef::Integer(integer))?,
            Drawn::Real(real) => one(ValueRef::Real(real))?,
            Drawn::Text(text) => one(ValueRef::Text(text))?,
            Drawn::Bytes(bytes) => one(ValueRef::Blob(bytes))?,
            Drawn::List(list) => {
                list.iter().try_for_each(|&element| one(ValueRef::Integer(element)))?;
            }
        }
    }
    let count = statement.parameter_count();
    if count == parameter {
        Ok(())
    } else {
        Err(rusqlite::Error::InvalidParameterCount(parameter, count))
    }
}

/// Reads every column of every row, as long as all is right, and checks what is expected of them.
fn read(
    statement: &mut Statement<'_>,
    expect: &Expectation,
    program: &Program,
    checking: &mut Checking,
) -> rusqlite::Result<()> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            std::hint::black_box(row.get_ref(column)?);
        }
        let cell = |column| row.get_ref(column).ok().map(Cell::from);
        if !checking.row(expect, program, cell) {
            break;
        }
    }
    Ok(())
}

impl<'a> From<ValueRef<'a>> for Cell<'a> {
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(integer) => Cell::Integer(integer),
            ValueRef::Real(real) => Cell::Real(real),
            ValueRef::Text(text) => Cell::Text(text),
            ValueRef::Blob(bytes) => Cell::Bytes(bytes),
        }
    }
}

#[cfg(test)]
mod tests;
