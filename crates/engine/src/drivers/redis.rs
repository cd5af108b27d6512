//! Redis, RESP 2 and RESP 3: operations become commands, replies become verdicts.
//!
//! Capabilities: any command that has one reply, templates in its arguments, lists as several
//! arguments; `AUTH`, `HELLO` and `SELECT` as connections are opened, TLS (`rediss`), pipelines.
//! `EVAL` of a script without values is loaded as connections are opened and asked as `EVALSHA`. An
//! error reply is a failed operation, also within that of `EXEC`; text, content, number of elements
//! and records by their keys are checked. In a cluster a command goes to the node that has its
//! first key, and is asked again where a node says to (`MOVED`, `ASK`); keys of several slots are
//! refused by the node; a replica that takes over is found where it is among the targets. Absent:
//! in a cluster reads from replicas and transactions (`MULTI`); subscriptions.

mod cluster;
mod request;

use wire::redis::{Kind, Messages, Reply, write};

use super::command::{Awaited, Expectation, arguments};
use super::secret::password;
use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received, Told};
use crate::error::{EngineError, PlanError};
use crate::plan::{Connection, Driver, Plan};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, Program};
use cluster::Cluster;
use request::{Bracket, Request, Script};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "redis", port: 6379, tls: false },
    Scheme { name: "rediss", port: 6379, tls: true },
];

/// How often a command is asked again of another node, which is once where a slot has moved.
const MOST_REDIRECTIONS: u8 = 5;

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Redis {
    operations: Vec<Operation>,
    targets: Vec<Target>,
    /// What a client says first, and how many replies that has before those about the cluster and
    /// the scripts.
    greeting: Vec<u8>,
    greetings: usize,
    cluster: Option<Cluster>,
    scripts: Vec<Script>,
    /// An argument that is being written.
    rendered: Vec<u8>,
}

#[derive(Clone)]
struct Operation {
    request: Request,
    expect: Expectation,
}

/// What is remembered of a connection.
pub struct Conn {
    target: usize,
    messages: Messages,
    /// Replies to what was said first that are still to come, those about scripts last.
    awaited: usize,
    /// Whether commands are gathered for `EXEC`.
    gathering: bool,
}

/// What a reply must be.
#[derive(Default)]
pub struct Asked {
    operation: OperationIndex,
    awaited: Awaited,
    /// How often a node has said to ask another, and whether `ASKING` is to be said to that.
    redirections: u8,
    asking: bool,
    /// Whether the reply to `ASKING` comes before its own.
    announced: bool,
}

impl Redis {
    /// Compiles the Plan's operations; the Plan's driver must be `redis`.
    pub fn compile(plan: &Plan, program: &Program) -> Result<Redis, EngineError> {
        let Driver::Redis { targets, user, password: hidden, database, resp, cluster } =
            &plan.driver
        else {
            return Err(EngineError::Bug("a Plan for another driver than redis".into()));
        };
        let password = password(hidden.as_deref(), program, "driver.password")?;
        let password = hidden.as_ref().map(|_| password.as_slice());
        let (greeting, greetings) = greeting(user.as_deref(), password, *resp)?;
        let mut redis = Redis {
            operations: Vec::new(),
            targets: Target::all(targets, SCHEMES)?,
            greeting,
            greetings,
            cluster: None,
            scripts: Vec::new(),
            rendered: Vec::with_capacity(4096),
        };
        if *database > 0 {
            let number = database.to_string();
            write::command(&[&b"SELECT"[..], number.as_bytes()], &mut redis.greeting);
            redis.greetings += 1;
        }
        if *cluster {
            if *database > 0 {
                let why = "a cluster has but database 0";
                return Err(PlanError::new("driver.database", database.to_string(), why).into());
            }
            if plan.connection == Connection::New {
                let why = "nodes of a cluster keep their connections";
                return Err(PlanError::new("connection", "new", why).into());
            }
            redis.cluster = Some(Cluster::new(&redis.targets)?);
            write::command(&["CLUSTER", "SLOTS"], &mut redis.greeting);
        }
        let apart = if *cluster {
            Some("in a cluster the commands of one transaction may belong to several nodes")
        } else if plan.pipeline > 1 {
            Some("clients that share a connection (`pipeline`) would gather each other's commands")
        } else {
            None
        };
        for operation in program.operations() {
            let arguments = arguments(program, operation, "redis")?;
            let request = Request::compile(operation, &arguments, apart, &mut redis.scripts)?;
            let expect = Expectation::compile(program, operation, &arguments)?;
            redis.operations.push(Operation { request, expect });
        }
        for script in &redis.scripts {
            write::command(&[&b"SCRIPT"[..], b"LOAD", &script.text], &mut redis.greeting);
        }
        Ok(redis)
    }

    fn greet(&self, conn: &mut Conn, out: &mut Vec<u8>) -> Opening {
        out.extend_from_slice(&self.greeting);
        conn.awaited = self.greetings + usize::from(self.cluster.is_some()) + self.scripts.len();
        if conn.awaited == 0 { Opening::Ready } else { Opening::More }
    }
}

/// What makes a client known: `HELLO` or `AUTH`, and the number of replies to that.
fn greeting(
    user: Option<&str>,
    password: Option<&[u8]>,
    resp: u8,
) -> Result<(Vec<u8>, usize), PlanError> {
    if !matches!(resp, 2 | 3) {
        let error = PlanError::new("driver.resp", resp.to_string(), "RESP is spoken in 2 versions");
        return Err(error.nearest_to(&resp.to_string(), ["2", "3"]));
    }
    if let (Some(user), None) = (user, password) {
        return Err(PlanError::new("driver.user", user, "a user needs a password beside it"));
    }
    let mut words: Vec<&[u8]> = Vec::new();
    if resp == 3 {
        words.extend([&b"HELLO"[..], b"3"]);
    }
    if let Some(password) = password {
        words.push(b"AUTH");
        // HELLO wants the name even of the user that AUTH alone stands for.
        words.extend(user.or((resp == 3).then_some("default")).map(str::as_bytes));
        words.push(password);
    }
    let mut out = Vec::new();
    if !words.is_empty() {
        write::command(&words, &mut out);
    }
    Ok((out, usize::from(!words.is_empty())))
}

/// The target that an error says is to be asked, if it says so and has not done so too often.
fn redirected(
    cluster: &mut Option<Cluster>,
    asked: &mut Asked,
    error: &[u8],
    teller: usize,
) -> Option<Result<usize, Reason>> {
    let found = cluster.as_mut()?.redirected(error, teller)?;
    if asked.redirections == MOST_REDIRECTIONS {
        return None;
    }
    asked.redirections += 1;
    Some(found.map(|(target, asking)| {
        asked.asking = asking;
        target
    }))
}

/// Holds a reply against what it must be.
#[inline]
fn check(expect: &Expectation, awaited: &mut Awaited, reply: Reply<'_>) -> Result<(), Reason> {
    expect.whole(awaited, true, || (reply.kind() != Kind::Null).then(|| reply.text()));
    if expect.looks() {
        for (place, (kind, text)) in reply.scalars().enumerate() {
            expect.look(awaited, place, (kind != Kind::Null).then_some(text));
        }
    }
    expect.verdict(awaited, || reply.rows() as u64)
}

impl Protocol for Redis {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        Box::new(responder::redis::Redis::new(0))
    }

    fn spread(&self) -> u32 {
        if self.cluster.is_some() { self.targets.len() as u32 } else { 1 }
    }

    fn places(&mut self, asked: &mut Asked, operation: OperationIndex, client: &Client) -> u64 {
        (asked.redirections, asked.asking) = (0, false);
        let request = &self.operations[operation].request;
        1 << match &self.cluster {
            Some(cluster) if request.key(client, &mut self.rendered) => {
                cluster.holder(&self.rendered)
            }
            _ => client.number() as usize % self.targets.len(),
        }
    }

    fn unreachable(&mut self, target: usize) {
        if let Some(cluster) = &mut self.cluster {
            cluster.unreachable(target);
        }
    }

    fn conn(&self, target: usize) -> Conn {
        Conn { target, messages: Messages::default(), awaited: 0, gathering: false }
    }

    fn asked(&self) -> Asked {
        Asked::default()
    }

    fn open(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.messages.reset();
        conn.gathering = false;
        if self.targets[conn.target].tls {
            return Ok(Opening::Secure);
        }
        Ok(self.greet(conn, out))
    }

    fn secured(&mut self, conn: &mut Conn, out: &mut Vec<u8>) -> Result<Opening, Reason> {
        Ok(self.greet(conn, out))
    }

    fn opening(
        &mut self,
        conn: &mut Conn,
        input: &mut &[u8],
        _out: &mut Vec<u8>,
    ) -> Result<Opening, Reason> {
        while conn.awaited > 0 {
            let Some(message) = conn.messages.next(input).map_err(Reason::Redis)? else {
                return Ok(Opening::More);
            };
            let reply = Reply::new(message);
            if reply.kind() == Kind::Push {
                continue;
            }
            if let Some(error) = reply.error() {
                return Err(Reason::Server(Told::new(error)));
            }
            if let Some(later) = self.scripts.len().checked_sub(conn.awaited) {
                let name = reply.text().try_into().map_err(|_| Reason::Body)?;
                self.scripts[later].name = name;
            } else if let Some(cluster) = &mut self.cluster
                && conn.awaited == self.scripts.len() + 1
            {
                cluster.learn(reply, conn.target);
            }
            conn.awaited -= 1;
        }
        Ok(Opening::Ready)
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
        let Operation { request, expect } = &self.operations[operation];
        asked.operation = operation;
        expect.begin(&mut asked.awaited, client);
        match request.bracket {
            Bracket::None => {}
            Bracket::Opens => conn.gathering = true,
            Bracket::Closes => conn.gathering = false,
        }
        asked.announced = std::mem::take(&mut asked.asking);
        if asked.announced {
            write::command(&["ASKING"], out);
        }
        request.write(client, &self.scripts, &mut self.rendered, out);
        Ok(())
    }

    #[inline]
    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        loop {
            let message = match conn.messages.next(input) {
                Ok(Some(message)) => message,
                Ok(None) => return Received::More,
                Err(error) => return Received::Broken(Reason::Redis(error)),
            };
            let reply = Reply::new(message);
            if reply.kind() == Kind::Push {
                continue;
            }
            if std::mem::take(&mut asked.announced) {
                continue;
            }
            let Some(error) = reply.error() else {
                let expect = &self.operations[asked.operation].expect;
                // What was gathered for EXEC must not become part of the next transaction.
                return match check(expect, &mut asked.awaited, reply) {
                    Ok(()) => Received::Reply { verdict: Ok(()), keep: true },
                    Err(wrong) => Received::Reply { verdict: Err(wrong), keep: !conn.gathering },
                };
            };
            let reason = match redirected(&mut self.cluster, asked, error, conn.target) {
                Some(Ok(target)) => return Received::Elsewhere(target),
                Some(Err(reason)) => reason,
                None => Reason::Server(Told::new(error)),
            };
            // A script that the server has forgotten is loaded as a connection is opened.
            let keep = !(conn.gathering || error.starts_with(b"NOSCRIPT"));
            return Received::Reply { verdict: Err(reason), keep };
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
