//! Reading a Plan, and what its types cannot say: ranges that are empty, weights that are nothing,
//! a request that the driver does not speak.
//!
//! Every complaint names the field, shows its value and says what would do. Absent: what only the
//! machine can tell, such as whether a port answers.

use serde_json::Value as Json;
use tally::Layout;

use super::{
    Block, Connection, Driver, Expect, FileRequest, HttpRequest, Length, Net, Operation, Plan,
    Range, Redirects, Request, Schedule, Stop, VERSION, Value, Wait, Workload,
};
use crate::error::PlanError;
use crate::values::DIGITS;
use crate::workload::Program;

/// A field's path and what is wrong with it.
type Wrong = (String, String);

impl Plan {
    /// Reads a Plan from JSON and checks all that can be told from the Plan alone.
    pub fn read(text: &str) -> Result<Plan, PlanError> {
        let json: Json = serde_json::from_str(text).map_err(|error| {
            PlanError::new("(the whole Plan)", "", format!("not JSON: {error}"))
        })?;
        match json.get("version") {
            None => return Err(PlanError::new("version", "", "missing; this build reads 1")),
            Some(version) if version.as_u64() != Some(u64::from(VERSION)) => {
                let why = format!("this build reads version {VERSION}");
                return Err(PlanError::new("version", version.to_string(), why));
            }
            Some(_) => {}
        }
        let plan: Plan = serde_path_to_error::deserialize(&json)
            .map_err(|error| misfit(&json, &error.path().to_string(), error.inner()))?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks what the types cannot say.
    pub fn check(&self) -> Result<(), PlanError> {
        let found = self
            .check_load()
            .and_then(|()| self.workload.check())
            .and_then(|()| self.check_driver());
        if let Err((field, why)) = found {
            let json = serde_json::to_value(self).unwrap_or(Json::Null);
            return Err(PlanError::new(field.clone(), shown(&json, &field), why));
        }
        Program::compile(&self.workload, &self.seeds, &mut Layout::new()).map(|_| ())
    }

    fn check_load(&self) -> Result<(), Wrong> {
        need(self.part.of > 0, "part.of", "there is at least one agent")?;
        need(
            self.part.index < self.part.of,
            "part.index",
            format!(
                "parts are counted from 0; of {} the last is {}",
                self.part.of,
                self.part.of - 1
            ),
        )?;
        need(self.timeout_ns > 0, "timeout_ns", "an operation needs some time")?;
        need(self.workers > 0, "workers", "at least one worker is needed")?;
        need(self.pipeline > 0, "pipeline", "1 is a request at a time")?;
        need(
            self.pipeline == 1 || self.connection == Connection::Kept,
            "pipeline",
            "a connection for each transaction carries one: 1",
        )?;
        need(
            i64::try_from(self.warmup_ns).is_ok(),
            "warmup_ns",
            "a warm-up is at most 2^63 − 1 nanoseconds",
        )?;
        self.check_wait()?;
        let (path, count) = match self.stop {
            Stop::DurationNs(duration) => ("stop.duration_ns", duration),
            Stop::Transactions(count) => ("stop.transactions", count),
            Stop::PerClient(count) => ("stop.per_client", count),
        };
        need(count > 0, path, "the measured part would be empty")?;
        match &self.schedule {
            Schedule::Closed { clients, .. } => {
                need(*clients > 0, "schedule.closed.clients", "at least one client is needed")?;
                need(
                    clients.is_multiple_of(self.pipeline),
                    "pipeline",
                    format!("{clients} clients cannot share connections in groups of so many"),
                )
            }
            Schedule::Open { connections, shape, .. } => {
                let field = "schedule.open.connections";
                need(*connections > 0, field, "at least one connection is needed")?;
                let field = "schedule.open.shape";
                need(!shape.is_empty(), field, "at least one segment is needed")?;
                for (index, segment) in shape.iter().enumerate() {
                    let rates = [("from", segment.from_per_second), ("to", segment.to_per_second)];
                    for (end, rate) in rates {
                        need(
                            rate.is_finite() && rate >= 0.0,
                            format!("{field}[{index}].{end}_per_second"),
                            "a rate is a number from 0",
                        )?;
                    }
                }
                let last = shape.len() - 1;
                need(
                    matches!(self.stop, Stop::DurationNs(_)) || shape[last].to_per_second > 0.0,
                    format!("{field}[{last}].to_per_second"),
                    "a trial that ends by count would never end at this rate",
                )
            }
        }
    }

    fn check_wait(&self) -> Result<(), Wrong> {
        if let Wait::Coalesce { answers, window_ns } = self.wait {
            need(self.net != Net::Epoll, "wait", "`coalesce` needs `net: uring`")?;
            need(answers > 0, "wait.coalesce.answers", "at least one answer is waited for")?;
            let sensible = (1_000..=1_000_000_000).contains(&window_ns);
            need(sensible, "wait.coalesce.window_ns", "a window is 1000 ns to 1 s")?;
        }
        if let Wait::Tick { every_ns } = self.wait {
            let sensible = (10_000..=1_000_000_000).contains(&every_ns);
            need(sensible, "wait.tick.every_ns", "a tick is 10000 ns to 1 s")?;
        }
        Ok(())
    }

    fn check_driver(&self) -> Result<(), Wrong> {
        if let Some(targets) = self.driver.targets() {
            need(!targets.is_empty(), "driver.targets", "at least one target is needed")?;
            need(
                (self.net == Net::Sim) == self.sim.is_some(),
                "sim",
                "it belongs with `net: sim`, and `net: sim` needs it",
            )?;
        }
        if let Driver::Http { redirects: Redirects::Follow, .. } = self.driver {
            let why = "behind requests that were sent already no redirect can be followed: 1";
            need(self.pipeline == 1, "pipeline", why)?;
        }
        if let Driver::Mysql { .. } = &self.driver {
            let why = "a connection of `mysql` carries one transaction: 1";
            need(self.pipeline == 1, "pipeline", why)?;
        }
        if let Driver::Sqlite { path, .. } = &self.driver {
            need(!path.is_empty(), "driver.path", "the database file is needed")?;
            let kept = self.connection == Connection::Kept;
            need(kept, "connection", "`sqlite` keeps its connections")?;
            need(self.net != Net::Sim, "net", "`sqlite` has no network to simulate")?;
            need(self.sim.is_none(), "sim", "`sqlite` has no network to simulate")?;
            need(self.pipeline == 1, "pipeline", "`sqlite` answers at once: 1")?;
            let of_networks = matches!(self.wait, Wait::Coalesce { .. } | Wait::Tick { .. });
            need(!of_networks, "wait", "`sqlite` has no answers to wait for")?;
        }
        if let Driver::File { .. } = &self.driver {
            self.check_file()?;
        } else {
            need(self.net != Net::Threads, "net", "`threads` wait for files alone")?;
        }
        for (t, transaction) in self.workload.transactions.iter().enumerate() {
            for (o, operation) in transaction.operations.iter().enumerate() {
                operation
                    .speaks(&self.driver)
                    .map_err(|(key, why)| (format!("{}.{key}", path(t, o)), why))?;
            }
        }
        Ok(())
    }
}

impl Plan {
    /// What a file cannot do that a server can.
    fn check_file(&self) -> Result<(), Wrong> {
        let Driver::File { path, size_bytes, .. } = &self.driver else { return Ok(()) };
        need(!path.is_empty(), "driver.path", "the file is needed")?;
        need(self.connection == Connection::Kept, "connection", "a file stays open: `kept`")?;
        need(self.pipeline == 1, "pipeline", "a client of a file has one order under way: 1")?;
        need(self.net != Net::Epoll, "net", "files are never waited for with `epoll`: `threads`")?;
        need(
            (self.net == Net::Sim) == self.sim.is_some(),
            "sim",
            "it belongs with `net: sim`, and `net: sim` needs it",
        )?;
        let sized = self.sim.is_none() || size_bytes.is_some();
        need(sized, "driver.size_bytes", "a simulated file has the size it is given")?;
        let of_networks = matches!(self.wait, Wait::Coalesce { .. } | Wait::Tick { .. });
        let together = self.net != Net::Threads || !of_networks;
        need(together, "wait", "threads have no answers to wait for")
    }
}

/// What a driver can do.
struct Capabilities {
    driver: &'static str,
    /// The kinds of requests it speaks.
    requests: &'static [&'static str],
    /// What it can check of an answer.
    checks: &'static [&'static str],
}

const HTTP: Capabilities = Capabilities {
    driver: "http",
    requests: &["http"],
    checks: &["status", "body", "contains", "headers", "size"],
};
const FILE: Capabilities =
    Capabilities { driver: "file", requests: &["file"], checks: &["intact"] };
const LDAP: Capabilities =
    Capabilities { driver: "ldap", requests: &["ldap"], checks: &["rows", "first", "keyed"] };
const MEMCACHED: Capabilities = Capabilities {
    driver: "memcached",
    requests: &["command"],
    checks: &["reply", "contains", "rows", "keyed"],
};
const MYSQL: Capabilities = Capabilities {
    driver: "mysql",
    requests: &["sql", "copy"],
    checks: &["rows", "first", "keyed"],
};
const POSTGRESQL: Capabilities = Capabilities {
    driver: "postgresql",
    requests: &["sql", "copy"],
    checks: &["rows", "first", "keyed"],
};
const REDIS: Capabilities = Capabilities {
    driver: "redis",
    requests: &["command"],
    checks: &["reply", "contains", "rows", "keyed"],
};
const SQLITE: Capabilities =
    Capabilities { driver: "sqlite", requests: &["sql"], checks: &["rows", "first", "keyed"] };

impl Driver {
    fn capabilities(&self) -> &'static Capabilities {
        match self {
            Driver::File { .. } => &FILE,
            Driver::Http { .. } => &HTTP,
            Driver::Ldap { .. } => &LDAP,
            Driver::Memcached { .. } => &MEMCACHED,
            Driver::Mysql { .. } => &MYSQL,
            Driver::Postgresql { .. } => &POSTGRESQL,
            Driver::Redis { .. } => &REDIS,
            Driver::Sqlite { .. } => &SQLITE,
        }
    }

    /// Where it connects to, if it does.
    pub fn targets(&self) -> Option<&[String]> {
        match self {
            Driver::Http { targets, .. }
            | Driver::Ldap { targets, .. }
            | Driver::Memcached { targets, .. }
            | Driver::Mysql { targets, .. }
            | Driver::Postgresql { targets, .. }
            | Driver::Redis { targets, .. } => Some(targets),
            Driver::File { .. } | Driver::Sqlite { .. } => None,
        }
    }
}

impl Request {
    /// Its name in the Plan.
    fn kind(&self) -> &'static str {
        match self {
            Request::Http(_) => "http",
            Request::Sql(_) => "sql",
            Request::Copy(_) => "copy",
            Request::Command(_) => "command",
            Request::File(_) => "file",
            Request::Ldap(_) => "ldap",
        }
    }
}

impl Operation {
    /// Whether the driver speaks this request and can check this expectation.
    fn speaks(&self, driver: &Driver) -> Result<(), Wrong> {
        let Capabilities { driver, requests, checks } = driver.capabilities();
        let spoken = requests.contains(&self.request.kind());
        let kinds = requests.iter().map(|kind| format!("`{kind}`")).collect::<Vec<_>>();
        let kinds = kinds.join(" and ");
        need(spoken, "request", format!("the driver `{driver}` speaks {kinds} requests alone"))?;
        let Expect { status, body, contains, size, headers, reply, rows, first, keyed, intact } =
            &self.expect;
        let asked = [
            ("status", status.is_some()),
            ("body", body.is_some()),
            ("contains", contains.is_some()),
            ("size", size.is_some()),
            ("headers", !headers.is_empty()),
            ("reply", reply.is_some()),
            ("rows", rows.is_some()),
            ("first", first.is_some()),
            ("keyed", keyed.is_some()),
            ("intact", *intact),
        ];
        if let Request::Copy(_) = self.request {
            let why = "the list whose elements make the rows is needed";
            need(self.for_each.is_some(), "for_each", why)?;
            let others = first.is_none() && keyed.is_none();
            need(others, "expect", "of rows that are copied only their number is known")?;
        }
        if let Request::Http(http) = &self.request {
            http.check().map_err(|(key, why)| (format!("request.http.{key}"), why))?;
        }
        size.map_or(Ok(()), |size| size.check("expect.size"))?;
        if let Request::File(request) = &self.request {
            let fits = request.block().is_none_or(Block::is_whole);
            let field = format!("request.file.{}.bytes", request.verb());
            need(fits, field, "a block has 512 bytes or a multiple of that, up to 64 MiB")?;
            let reads = matches!(request, FileRequest::Read(_));
            need(reads || !intact, "expect.intact", "only what is read can be found intact")?;
        }
        for (key, present) in asked {
            let why = format!("the driver `{driver}` cannot check this");
            need(!present || checks.contains(&key), format!("expect.{key}"), why)?;
        }
        Ok(())
    }
}

impl HttpRequest {
    fn check(&self) -> Result<(), Wrong> {
        let HttpRequest { body, body_file, chunk_bytes, .. } = self;
        let one = body.is_none() || body_file.is_none();
        need(one, "body_file", "the body is given already")?;
        let Some(bytes) = chunk_bytes else { return Ok(()) };
        let some = body.is_some() || body_file.is_some();
        need(some, "chunk_bytes", "there is no body to send in chunks")?;
        need(*bytes > 0, "chunk_bytes", "a chunk has at least one byte")
    }
}

impl Workload {
    fn check(&self) -> Result<(), Wrong> {
        for (name, value) in &self.values {
            let field = format!("workload.values.{name}");
            let plain = !name.is_empty() && !name.contains(['$', '{', '}']);
            need(plain, &field, "a value's name is not empty and has none of `$`, `{`, `}`")?;
            value.check().map_err(|(key, why)| (format!("{field}.{key}"), why))?;
        }
        let field = "workload.transactions";
        need(!self.transactions.is_empty(), field, "at least one transaction is needed")?;
        for (t, transaction) in self.transactions.iter().enumerate() {
            let field = format!("{field}[{t}]");
            let before = &self.transactions[..t];
            need(
                before.iter().all(|earlier| earlier.name != transaction.name),
                format!("{field}.name"),
                "two transactions cannot have the same name",
            )?;
            need(!transaction.name.is_empty(), format!("{field}.name"), "a name is needed")?;
            let weight = transaction.weight;
            need(
                weight.is_finite() && weight >= 0.0,
                format!("{field}.weight"),
                "a weight is a number from 0",
            )?;
            need(
                !transaction.operations.is_empty(),
                format!("{field}.operations"),
                "a transaction has at least one operation",
            )?;
            let mut operations = transaction.operations.iter();
            if let Some(nameless) = operations.position(|operation| operation.name.is_empty()) {
                return Err((format!("{}.name", path(t, nameless)), "a name is needed".into()));
            }
        }
        need(
            self.transactions.iter().any(|transaction| transaction.weight > 0.0),
            "workload.transactions[0].weight",
            "at least one transaction has a weight above 0",
        )
    }
}

impl Value {
    /// Whether the generator can be made; the path is below the value.
    fn check(&self) -> Result<(), Wrong> {
        match self {
            Value::Constant(_) | Value::Sequence { .. } | Value::Template(_) => Ok(()),
            Value::Uniform(range) => range.check("uniform"),
            Value::Zipfian { low, high, theta, .. } => {
                counted(*low, *high, "zipfian")?;
                let sound = theta.is_finite() && *theta >= 0.0;
                need(sound, "zipfian.theta", "the exponent is a number from 0")
            }
            Value::Latest(range) => counted(range.low, range.high, "latest"),
            Value::Hotspot { low, high, set, share } => {
                counted(*low, *high, "hotspot")?;
                need((0.0..=1.0).contains(set), "hotspot.set", "a share lies from 0 to 1")?;
                need((0.0..=1.0).contains(share), "hotspot.share", "a share lies from 0 to 1")
            }
            Value::Exponential { low, high, share, within } => {
                counted(*low, *high, "exponential")?;
                need(
                    0.0 < *within && within < share && *share < 1.0,
                    "exponential.share",
                    "needed: 0 < within < share < 1, or the draws would not fall from `low`",
                )
            }
            Value::Text { length, key, versioned } => {
                length.check("text.length")?;
                let least = match length {
                    Length::Exactly(least) => i64::from(*least),
                    Length::Between(range) => range.low,
                };
                let room = 2 * DIGITS as i64;
                need(
                    !versioned || key.is_some(),
                    "text.versioned",
                    "only what belongs to a `key` has versions",
                )?;
                need(
                    !versioned || least >= room,
                    "text.length",
                    format!("a version and its key take {room} characters"),
                )
            }
            Value::Bytes { length, .. } => length.check("bytes.length"),
            Value::Choice(choices) => {
                for (index, choice) in choices.iter().enumerate() {
                    need(
                        choice.weight.is_finite() && choice.weight >= 0.0,
                        format!("choice[{index}].weight"),
                        "a weight is a number from 0",
                    )?;
                }
                let sound = choices.iter().any(|choice| choice.weight > 0.0);
                need(sound, "choice", "at least one choice has a weight above 0")
            }
            Value::List { low, high, length, distinct } => {
                Range { low: *low, high: *high }.check("list")?;
                length.check("list.length")?;
                let most = length.most();
                short(most, "list.length")?;
                need(
                    !distinct || i128::from(most) <= i128::from(*high) - i128::from(*low) + 1,
                    "list.length",
                    "the range has fewer distinct elements than this",
                )
            }
            Value::Batch { start, length, last } => {
                need(*length > 0, "batch.length", "a list has at least one element")?;
                short(i64::from(*length), "batch.length")?;
                need(start <= last, "batch.last", format!("the first number is {start}"))
            }
        }
    }
}

impl Range {
    fn check(self, field: &str) -> Result<(), Wrong> {
        need(self.low <= self.high, format!("{field}.high"), format!("`low` is {}", self.low))
    }
}

impl Length {
    fn most(self) -> i64 {
        match self {
            Length::Exactly(length) => i64::from(length),
            Length::Between(range) => range.high,
        }
    }

    fn check(self, field: &str) -> Result<(), Wrong> {
        let Length::Between(range) = self else { return Ok(()) };
        range.check(field)?;
        need(range.low >= 0, format!("{field}.low"), "a length is not negative")?;
        let sound = u32::try_from(range.high).is_ok();
        need(sound, format!("{field}.high"), format!("a length is at most {}", u32::MAX))
    }
}

/// A list for which every client has room.
fn short(length: i64, field: &str) -> Result<(), Wrong> {
    const MOST_ELEMENTS: i64 = 1_000_000;
    need(length <= MOST_ELEMENTS, field, format!("a list has at most {MOST_ELEMENTS} elements"))
}

/// A range whose elements a law counts in double precision.
fn counted(low: i64, high: i64, field: &str) -> Result<(), Wrong> {
    Range { low, high }.check(field)?;
    need(
        high.abs_diff(low) < 1 << 53,
        format!("{field}.high"),
        "the range has at most 2^53 elements",
    )
}

fn need(holds: bool, field: impl Into<String>, otherwise: impl Into<String>) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err((field.into(), otherwise.into())) }
}

fn path(transaction: usize, operation: usize) -> String {
    format!("workload.transactions[{transaction}].operations[{operation}]")
}

/// Turns a complaint of the reader into one that names the field and the nearest valid choice.
fn misfit(json: &Json, path: &str, error: &serde_json::Error) -> PlanError {
    let message = error.to_string();
    let unknown = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|start| message.strip_prefix(start)?.split_once('`'));
    let Some((word, rest)) = unknown else {
        return PlanError::new(path, shown(json, path), message);
    };
    let choices: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    let value = shown(json, path);
    // A wrong word is the value at the path, or a key below it that the path may already name.
    let parent = path.strip_suffix(word).map_or(path, |parent| parent.trim_end_matches('.'));
    let (field, value) = match parent {
        _ if value == format!("\"{word}\"") => (path.to_owned(), value),
        "" | "." => (word.to_owned(), String::new()),
        parent => (format!("{parent}.{word}"), String::new()),
    };
    let why = if choices.is_empty() {
        format!("`{word}` is not known here")
    } else {
        format!("`{word}` is not known here; known: {}", choices.join(", "))
    };
    PlanError::new(field, value, why).nearest_to(word, choices)
}

/// The value at a path such as `a.b[0].c`, as JSON; empty where there is none.
fn shown(json: &Json, path: &str) -> String {
    let parts = path.split(['.', '[']).map(|part| part.trim_end_matches(']'));
    let found = parts.filter(|part| !part.is_empty()).try_fold(json, |value, part| match value {
        Json::Array(elements) => elements.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    });
    found.map_or_else(String::new, Json::to_string)
}

#[cfg(test)]
mod tests;
