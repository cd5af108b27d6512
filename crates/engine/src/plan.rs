//! The Plan: one complete, versioned document that says all there is to say about a trial.
//!
//! A trial is a pure function of its Plan and the world, so nothing the engine does may depend on
//! anything that is not written here. Unknown fields are refused. Absent: how long a session takes,
//! which trials are repeated, what the figures mean; the lab and the judge know that.

mod check;
mod driver;
mod file;
mod http;
mod ldap;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use driver::{Driver, MysqlProtocol, Sharding, SqlProtocol};
pub use file::{Block, FileRequest, Sync};
pub use http::{Cookies, HttpRequest, Redirects};
pub use ldap::{LdapRequest, Scope};

/// The version of the Plan this build writes; it reads every earlier one.
pub const VERSION: u32 = 1;

/// A whole trial, as one agent is told it.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The format's version, 1.
    pub version: u32,
    /// The agent's share of the trial; clients and rates below are the whole trial's.
    #[serde(default)]
    pub part: Part,
    /// When the warm-up starts, in nanoseconds of the wall clock since 1970; at once when absent.
    #[serde(default)]
    pub start_at: Option<i64>,
    /// Seeds of everything that is drawn.
    pub seeds: Seeds,
    /// The client side of a protocol, and what it talks to.
    pub driver: Driver,
    /// What is asked.
    pub workload: Workload,
    /// When it is asked.
    pub schedule: Schedule,
    /// How long the load runs before the measured part, in nanoseconds.
    #[serde(default)]
    pub warmup_ns: u64,
    /// When the measured part ends.
    pub stop: Stop,
    /// How long an operation may take from being sent, in nanoseconds, before it counts as timed
    /// out.
    #[serde(default = "Plan::default_timeout_ns")]
    pub timeout_ns: u64,
    /// Whether a connection serves one transaction or many.
    #[serde(default)]
    pub connection: Connection,
    /// How many transactions may be under way on a connection, their requests sent without waiting
    /// for the answers before. Clients share connections in groups of so many; an open schedule
    /// gives each connection so many.
    #[serde(default = "Plan::default_pipeline")]
    pub pipeline: u32,
    /// How encrypted connections are checked.
    #[serde(default)]
    pub tls: Tls,
    /// The network provider; the Measurement names the one that was used.
    #[serde(default)]
    pub net: Net,
    /// The simulated server and network, for `net: sim` alone.
    #[serde(default)]
    pub sim: Option<Sim>,
    /// How a worker waits; the Measurement names the way that was used.
    #[serde(default)]
    pub wait: Wait,
    /// Worker threads of a network driver.
    #[serde(default = "Plan::default_workers")]
    pub workers: u32,
    /// Cores the agent is pinned to: worker `i` runs on `cpus[i % len]`. Empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<u32>,
}

impl Plan {
    fn default_timeout_ns() -> u64 {
        5_000_000_000
    }

    fn default_workers() -> u32 {
        1
    }

    fn default_pipeline() -> u32 {
        1
    }
}

/// The Plan's JSON Schema, as `docs/plan.schema.json` has it.
pub fn schema() -> String {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Plan));
    schema.expect("a schema is JSON") + "\n"
}

/// Which of several agents this one is.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// How many agents share the trial.
    pub of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Part { index: 0, of: 1 }
    }
}

/// One seed for each thing that is drawn, so that changing one leaves the others alone.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// Keys and the choice of transactions.
    pub keys: u64,
    /// Contents: text and bytes.
    pub values: u64,
    /// Arrivals and think times.
    pub arrivals: u64,
    /// Disturbances.
    pub faults: u64,
}

/// What is asked: named values, drawn once a transaction, and a weighted choice of transactions.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Values by name; a request mentions them as `${name}`.
    #[serde(default)]
    pub values: BTreeMap<String, Value>,
    /// The transactions, at least one; one is drawn by weight each time.
    pub transactions: Vec<Transaction>,
}

/// What a user would call one action.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Transaction {
    /// Its name in the Measurement.
    pub name: String,
    /// How often it is drawn, relative to the others.
    #[serde(default = "Transaction::default_weight")]
    pub weight: f64,
    /// Its operations, asked one after another on one connection.
    pub operations: Vec<Operation>,
}

impl Transaction {
    fn default_weight() -> f64 {
        1.0
    }
}

/// One request and its answer.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its name in the Measurement.
    pub name: String,
    /// What is sent.
    pub request: Request,
    /// What the answer must be; an answer that differs is a failed operation.
    #[serde(default)]
    pub expect: Expect,
    /// Asked once for each element of this list value, which `${name}` then stands for.
    #[serde(default)]
    pub for_each: Option<String>,
}

/// A request; its kind must be one the driver speaks.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// An HTTP request.
    Http(HttpRequest),
    /// A statement; `${name}` becomes a bound parameter, a list value as many as it has elements.
    Sql(String),
    /// A command and its arguments, templates; one that mentions a list value stands for as many
    /// arguments as the list has elements.
    Command(Vec<String>),
    /// A search of a directory, or a change in it.
    Ldap(LdapRequest),
    /// Many rows in one go, one for each element of the operation's `for_each`, whose elements are
    /// then not asked one by one.
    Copy(CopyRequest),
    /// A read, write or sync of a file.
    File(FileRequest),
}

/// Rows that go into a table.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CopyRequest {
    /// The table and its columns, e.g. `item (id, text)`.
    pub into: String,
    /// A template for each column.
    pub row: Vec<String>,
}

/// What an answer must be. Absent fields are not checked, except that an HTTP answer without
/// `status` must have one below 400.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// HTTP: the status is one of these.
    #[serde(default)]
    pub status: Option<Vec<u16>>,
    /// HTTP: the body is exactly this template.
    #[serde(default)]
    pub body: Option<String>,
    /// HTTP: the body contains this template. Commands: one of the reply's texts does.
    #[serde(default)]
    pub contains: Option<String>,
    /// HTTP: the body has this many bytes, as they come.
    #[serde(default)]
    pub size: Option<Length>,
    /// HTTP: these headers are there with these values (name in any case, value a template).
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// Commands: the reply, a text or a number, is exactly this template.
    #[serde(default)]
    pub reply: Option<String>,
    /// SQL: this many rows come back or are changed: a number, or `${list}` for the list's length.
    /// Commands: this many elements of the reply are there, where one that is not is null. LDAP:
    /// this many entries are found.
    #[serde(default)]
    pub rows: Option<String>,
    /// SQL: the first row's first column is this template. LDAP: rows are the entries, columns the
    /// first values of the attributes that the search names, in that order; here and below.
    #[serde(default)]
    pub first: Option<String>,
    /// SQL: in every row the second column is what this text or bytes value, which has a `key`, is
    /// for the first column: rows that come in any order are checked by their own key.
    #[serde(default)]
    pub keyed: Option<String>,
    /// Files: every sector read is what was written there, in any version.
    #[serde(default)]
    pub intact: bool,
}

impl Operation {
    /// Every template of the request and of what is expected, with its path below the operation.
    pub fn templates(&self) -> Vec<(String, &str)> {
        let mut all: Vec<(String, &str)> = Vec::new();
        match &self.request {
            Request::Sql(sql) => all.push(("request.sql".into(), sql)),
            Request::File(request) => {
                let path = format!("request.file.{}.at", request.verb());
                let at = request.block().and_then(|block| block.at.as_deref());
                all.extend(at.map(|at| (path, at)));
            }
            Request::Copy(copy) => {
                for (index, column) in copy.row.iter().enumerate() {
                    all.push((format!("request.copy.row[{index}]"), column));
                }
            }
            Request::Ldap(ldap) => all.extend(ldap.templates()),
            Request::Command(words) => {
                for (index, word) in words.iter().enumerate() {
                    all.push((format!("request.command[{index}]"), word));
                }
            }
            Request::Http(http) => {
                all.push(("request.http.path".into(), &http.path));
                for (index, (_, value)) in http.headers.iter().enumerate() {
                    all.push((format!("request.http.headers[{index}][1]"), value));
                }
                all.extend(http.body.iter().map(|b| ("request.http.body".into(), b.as_str())));
            }
        }
        let expect = &self.expect;
        for (key, text) in [
            ("body", &expect.body),
            ("contains", &expect.contains),
            ("reply", &expect.reply),
            ("rows", &expect.rows),
            ("first", &expect.first),
        ] {
            all.extend(text.iter().map(|text| (format!("expect.{key}"), text.as_str())));
        }
        for (index, (_, value)) in expect.headers.iter().enumerate() {
            all.push((format!("expect.headers[{index}][1]"), value));
        }
        all
    }
}

/// A generator of values; every draw is a function of (seed, name, client, n).
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Value {
    /// Always this.
    Constant(Scalar),
    /// `start + step × k`, k counting the transactions of all clients together without gaps when
    /// each client does its share.
    Sequence {
        /// The first value.
        start: i64,
        /// The distance between two.
        #[serde(default = "Value::default_step")]
        step: i64,
    },
    /// Whole numbers, all equally likely.
    Uniform(Range),
    /// Whole numbers by Zipf's law: the k-th most frequent has weight 1/k^theta; `scramble` spreads
    /// the frequent ones over the range.
    Zipfian {
        /// Least.
        low: i64,
        /// Greatest.
        high: i64,
        /// The exponent.
        #[serde(default = "Value::default_theta")]
        theta: f64,
        /// Whether the frequent values are scattered over the range.
        #[serde(default)]
        scramble: bool,
    },
    /// Zipfian from the greatest value downwards: the newest records are read most.
    Latest(Range),
    /// A share of draws goes to the first share of the range.
    Hotspot {
        /// Least.
        low: i64,
        /// Greatest.
        high: i64,
        /// Share of the range that is hot, 0 to 1.
        set: f64,
        /// Share of draws that hit it, 0 to 1.
        share: f64,
    },
    /// Exponentially falling from `low`: `share` of draws lie in the first `within` of the range.
    Exponential {
        /// Least.
        low: i64,
        /// Greatest.
        high: i64,
        /// Share of draws.
        #[serde(default = "Value::default_exponential_share")]
        share: f64,
        /// Share of the range.
        #[serde(default = "Value::default_exponential_within")]
        within: f64,
    },
    /// Printable text, of letters, digits, `-` and `_`. With `key`, a function of (seed, length,
    /// that value) alone, the same under any name, so that it can be checked; where the key is a
    /// list, it stands for the element of `for_each`.
    Text {
        /// Characters.
        length: Length,
        /// The value it is derived from.
        #[serde(default)]
        key: Option<String>,
        /// Whether each draw is another version of what belongs to the key. Such a text begins with
        /// its version and its key, eleven characters each, and the rest follows from both, so that
        /// any version can be checked by `keyed` and none be taken for another's.
        #[serde(default)]
        versioned: bool,
    },
    /// Bytes. With `key`, as with text.
    Bytes {
        /// Bytes.
        length: Length,
        /// The value it is derived from.
        #[serde(default)]
        key: Option<String>,
    },
    /// One of these, by weight.
    Choice(Vec<Weighted>),
    /// Text with other values in it.
    Template(String),
    /// A list of whole numbers, for `for_each` and `IN (${list})`.
    List {
        /// Least element.
        low: i64,
        /// Greatest element.
        high: i64,
        /// How many.
        length: Length,
        /// Whether no element comes twice.
        #[serde(default)]
        distinct: bool,
    },
    /// A list of the next `length` whole numbers, none beyond `last`: the transactions of all
    /// clients together go from `start` to `last` without gaps. It makes loading fast, since what
    /// a transaction writes for each element is committed once.
    Batch {
        /// The first number of the first list.
        start: i64,
        /// How many in a list.
        length: u32,
        /// The greatest number; lists beyond it are empty.
        last: i64,
    },
}

impl Value {
    fn default_step() -> i64 {
        1
    }
    fn default_theta() -> f64 {
        0.99
    }
    fn default_exponential_share() -> f64 {
        0.95
    }
    fn default_exponential_within() -> f64 {
        0.8571
    }
}

/// Whole numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Least.
    pub low: i64,
    /// Greatest.
    pub high: i64,
}

/// How long a text or list is.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(untagged, expecting = "a length is a whole number or {\"low\": …, \"high\": …}")]
pub enum Length {
    /// Always this long.
    Exactly(u32),
    /// Uniformly between, both included.
    Between(Range),
}

/// A number or a text.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(untagged, expecting = "a number or a text is needed")]
pub enum Scalar {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Text.
    Text(String),
}

/// One choice and its weight.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Weighted {
    /// What is chosen.
    pub value: Scalar,
    /// How often, relative to the others.
    pub weight: f64,
}

/// When transactions should start.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// Each client starts its next transaction when the last one is done and it has thought.
    Closed {
        /// Clients of the whole trial, each with a connection of its own.
        clients: u32,
        /// Pause after each transaction.
        #[serde(default)]
        think: Think,
    },
    /// Transactions start at a rate, whether or not earlier ones are done.
    Open {
        /// How they are spaced.
        #[serde(default)]
        arrivals: Arrivals,
        /// Connections of the whole trial; a due transaction waits for a free one.
        connections: u32,
        /// The rate over the measured part; the last segment goes on to the end. During warm-up the
        /// first segment's initial rate holds.
        shape: Vec<Segment>,
    },
}

/// A pause of a client between two transactions, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Think {
    /// None.
    #[default]
    None,
    /// Always this long.
    ConstantNs(u64),
    /// Exponentially distributed with this mean.
    ExponentialNs(u64),
}

/// How an open schedule spaces its transactions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// A Poisson process.
    #[default]
    Poisson,
    /// Equal spaces.
    Constant,
}

/// A stretch over which the rate goes in a straight line; equal ends hold it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Segment {
    /// Transactions per second at its beginning.
    pub from_per_second: f64,
    /// Transactions per second at its end.
    pub to_per_second: f64,
    /// Its length in nanoseconds.
    pub length_ns: u64,
}

/// When the measured part ends.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Stop {
    /// After this long, in nanoseconds.
    DurationNs(u64),
    /// After this many transactions of the whole trial.
    Transactions(u64),
    /// After this many transactions of each client.
    PerClient(u64),
}

/// Whether connections are kept.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// One connection serves many transactions.
    #[default]
    Kept,
    /// Each transaction connects anew; connecting is an operation called `connect`.
    New,
}

/// How encrypted connections are checked; whether one is encrypted, its target's scheme says.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Whether the server's certificate must be for its name and by somebody trusted.
    #[serde(default = "Tls::default_verify")]
    pub verify: bool,
    /// A file of certificates (PEM) that are trusted, instead of this machine's.
    #[serde(default)]
    pub ca: Option<String>,
    /// The name the certificate must be for, instead of the target's host.
    #[serde(default)]
    pub server_name: Option<String>,
}

impl Tls {
    fn default_verify() -> bool {
        true
    }
}

impl Default for Tls {
    fn default() -> Self {
        Tls { verify: true, ca: None, server_name: None }
    }
}

/// The network provider.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// The best this machine has.
    #[default]
    Auto,
    /// Readiness through epoll.
    Epoll,
    /// Completions through `io_uring`, of Linux 6.1 and later.
    Uring,
    /// Files: a thread a client, which waits in its calls.
    Threads,
    /// A simulated network, server and clock.
    Sim,
}

/// How a worker waits when nothing is due.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Wait {
    /// Chosen by the engine.
    #[default]
    Auto,
    /// Sleep in the kernel until an event or a deadline.
    Sleep,
    /// Never sleep.
    Spin,
    /// Sleep until several answers are there, or one after a window: fewer wake-ups for answers
    /// that are noticed up to that window late, which adds to the latencies that are measured. It
    /// needs `io_uring` of Linux 6.12 and later.
    Coalesce {
        /// How many answers end a sleep at once; all connections of a worker, where those are
        /// fewer.
        answers: u32,
        /// How long fewer are left waiting from the beginning of a sleep, in nanoseconds; whole
        /// microseconds count.
        window_ns: u64,
    },
    /// Sleep for a length of time, whatever comes meanwhile, and then see to all of it at once: the
    /// fewest wake-ups at a low rate, for requests and answers that are both up to that late, which
    /// adds to the latencies that are measured.
    Tick {
        /// How long, in nanoseconds.
        every_ns: u64,
    },
}

/// The simulated server and network.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Sim {
    /// How long the server works on a request.
    pub service: SimService,
    /// How many requests it works on at once; the others queue, first come first served.
    #[serde(default = "Sim::default_servers")]
    pub servers: u32,
    /// One-way delay of the network, in nanoseconds.
    #[serde(default)]
    pub latency_ns: u64,
    /// Stretches in which the server stands still.
    #[serde(default)]
    pub freezes: Vec<Freeze>,
    /// How long the agent is kept from running at each of its steps, in nanoseconds: a starved
    /// generator.
    #[serde(default)]
    pub agent_step_ns: u64,
    /// What the server does wrong, by the ordinal of the request it happens to, counted from 0.
    #[serde(default)]
    pub misdeeds: BTreeMap<u64, Misdeed>,
}

impl Sim {
    fn default_servers() -> u32 {
        1
    }
}

/// The distribution of a simulated service time.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SimService {
    /// Always this long.
    ConstantNs(u64),
    /// Exponentially distributed with this mean.
    ExponentialNs(u64),
}

/// A stretch in which the simulated server stands still.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    /// When it begins, in nanoseconds from the trial's origin.
    pub at_ns: i64,
    /// How long it lasts, in nanoseconds.
    pub for_ns: u64,
}

/// What a simulated server does instead of answering.
#[derive(
    Clone, Copy, Debug, Deserialize, Serialize, JsonSchema, PartialEq, Eq, PartialOrd, Ord,
)]
#[serde(rename_all = "snake_case")]
pub enum Misdeed {
    /// Closes the connection without an answer.
    Close,
    /// Sends half an answer and closes.
    Cut,
    /// Sends bytes that are no answer.
    Garbage,
    /// Never answers.
    Silence,
    /// Answers with status 500 or its like.
    Error,
}
