//! HTTP/1.1: operations become requests, answers become verdicts.
//!
//! Capabilities: any method but CONNECT, templates in path, headers and body; status, headers and
//! body of the answer are checked. Absent: redirects, compression, cookies.

use memchr::memmem;
use wire::http::{Event, Heads, Kind, ResponseHead, Responses, encode_request};

use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received};
use crate::error::PlanError;
use crate::plan::{Expect, HttpRequest, Request};
use crate::responder::{self, Service};
use crate::template::Template;
use crate::workload::{Client, OperationIndex, Program};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "http", port: 80, tls: false },
    Scheme { name: "https", port: 443, tls: true },
];

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Http {
    operations: Vec<Operation>,
    targets: Vec<Target>,
    heads: Heads,
    /// Rendered path, header values and body of the request being written, and where each ends.
    rendered: Vec<u8>,
    ends: Vec<usize>,
}

#[derive(Clone)]
struct Operation {
    method: String,
    path: Template,
    headers: Vec<(String, Template)>,
    /// Whether `Host` is among the headers.
    has_host: bool,
    body: Option<Template>,
    /// The whole request for each target, when nothing in it varies.
    fixed: Option<Vec<Vec<u8>>>,
    expect: Expectation,
}

#[derive(Clone)]
struct Expectation {
    status: Option<Vec<u16>>,
    headers: Vec<(String, Template)>,
    body: Option<Template>,
    contains: Option<Template>,
}

/// What is remembered of a connection: where its answer stands.
pub struct Conn {
    target: usize,
    reader: Responses,
}

/// What an answer must be, and what has been seen of it.
pub struct Asked {
    operation: OperationIndex,
    kind: Kind,
    verdict: Result<(), Reason>,
    headers: Vec<Vec<u8>>,
    body: BodyCheck,
}

#[derive(Default)]
enum Checking {
    #[default]
    Nothing,
    /// The body is exactly the text; so far this much of it has come.
    Exactly(usize),
    /// The text occurs in the body; whether it has.
    Contains(bool),
}

#[derive(Default)]
struct BodyCheck {
    checking: Checking,
    text: Vec<u8>,
    /// The body's last bytes, in which the text may have begun.
    tail: Vec<u8>,
}

impl Http {
    /// Compiles the program's operations for these targets; `fresh` when each transaction has a
    /// connection of its own.
    pub fn compile(program: &Program, targets: &[String], fresh: bool) -> Result<Http, PlanError> {
        let mut http = Http {
            operations: Vec::new(),
            targets: Target::all(targets, SCHEMES)?,
            heads: Heads::new(),
            rendered: Vec::with_capacity(4096),
            ends: Vec::with_capacity(64),
        };
        for operation in program.operations() {
            let field = format!("{}.request.http", operation.field);
            let Request::Http(request) = &operation.plan.request else {
                let why = "the driver `http` speaks HTTP alone";
                return Err(PlanError::new(format!("{}.request", operation.field), "", why));
            };
            let mut compiled = Operation::compile(program, request, fresh, &field)?;
            compiled.expect =
                Expectation::compile(program, &operation.plan.expect, &operation.field)?;
            http.fix(&mut compiled, &field)?;
            http.operations.push(compiled);
        }
        Ok(http)
    }

    /// Writes a request without values once and for all, which also tells whether it can be.
    fn fix(&self, operation: &mut Operation, field: &str) -> Result<(), PlanError> {
        let constant = |template: &Template| template.constant().map(<[u8]>::to_vec);
        let headers: Option<Vec<_>> =
            operation.headers.iter().map(|(_, value)| constant(value)).collect();
        let body = operation.body.as_ref().map(constant);
        let (Some(path), Some(headers)) = (constant(&operation.path), headers) else {
            return Ok(());
        };
        if body == Some(None) {
            return Ok(());
        }
        let mut fixed = Vec::new();
        for target in &self.targets {
            let mut out = Vec::new();
            let values = headers.iter().map(Vec::as_slice);
            operation
                .write(
                    &target.authority,
                    &path,
                    values,
                    body.as_ref().and_then(Option::as_deref),
                    &mut out,
                )
                .map_err(|invalid| PlanError::new(field, "", invalid.to_string()))?;
            fixed.push(out);
        }
        operation.fixed = Some(fixed);
        Ok(())
    }

    fn render(&mut self, operation: OperationIndex, client: &Client) {
        let operation = &self.operations[operation];
        self.rendered.clear();
        self.ends.clear();
        let values = operation.headers.iter().map(|(_, value)| value);
        for part in std::iter::once(&operation.path).chain(values).chain(&operation.body) {
            part.render(client, &mut self.rendered);
            self.ends.push(self.rendered.len());
        }
    }
}

impl Operation {
    fn compile(
        program: &Program,
        request: &HttpRequest,
        fresh: bool,
        field: &str,
    ) -> Result<Operation, PlanError> {
        if request.method.eq_ignore_ascii_case("connect") {
            let why = "a tunnel is not a request with an answer";
            return Err(PlanError::new(format!("{field}.method"), &request.method, why));
        }
        let mut headers = Vec::new();
        for (index, (name, value)) in request.headers.iter().enumerate() {
            let field = format!("{field}.headers[{index}]");
            if ["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()) {
                return Err(PlanError::new(field, name, "the driver states the length itself"));
            }
            headers.push((name.clone(), program.template(value, &field)?));
        }
        let named = |wanted: &str| {
            request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        let (has_host, has_connection) = (named("host"), named("connection"));
        if fresh && !has_connection {
            // The server closes first, so that the port in TIME_WAIT is not one of the agent's.
            headers.push(("Connection".to_owned(), program.template("close", field)?));
        }
        let body = request.body.as_ref();
        Ok(Operation {
            method: request.method.clone(),
            path: program.template(&request.path, &format!("{field}.path"))?,
            headers,
            has_host,
            body: body.map(|b| program.template(b, &format!("{field}.body"))).transpose()?,
            fixed: None,
            expect: Expectation { status: None, headers: vec![], body: None, contains: None },
        })
    }

    fn write<'a>(
        &'a self,
        host: &'a str,
        path: &[u8],
        values: impl Iterator<Item = &'a [u8]>,
        body: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), wire::http::Invalid> {
        let host = (!self.has_host).then_some(("Host", host.as_bytes()));
        let names = self.headers.iter().map(|(name, _)| name.as_str());
        encode_request(&self.method, path, host.into_iter().chain(names.zip(values)), body, out)
    }

    fn kind(&self) -> Kind {
        if self.method == "HEAD" { Kind::Head } else { Kind::Other }
    }
}

impl Expectation {
    fn compile(program: &Program, expect: &Expect, field: &str) -> Result<Expectation, PlanError> {
        let compile = |text: &Option<String>, key: &str| {
            let field = format!("{field}.expect.{key}");
            text.as_ref().map(|text| program.template(text, &field)).transpose()
        };
        let header = |(name, value): &(String, String)| {
            let value = program.template(value, &format!("{field}.expect.headers"))?;
            Ok((name.clone(), value))
        };
        Ok(Expectation {
            status: expect.status.clone(),
            headers: expect.headers.iter().map(header).collect::<Result<_, PlanError>>()?,
            body: compile(&expect.body, "body")?,
            contains: compile(&expect.contains, "contains")?,
        })
    }

    fn check_head(&self, head: &ResponseHead<'_>, headers: &[Vec<u8>]) -> Result<(), Reason> {
        let expected = match &self.status {
            Some(statuses) => statuses.contains(&head.status),
            None => head.status < 400,
        };
        if !expected {
            return Err(Reason::Status(head.status));
        }
        let mut wanted = self.headers.iter().zip(headers);
        if wanted.all(|((name, _), value)| head.has(name, value)) {
            Ok(())
        } else {
            Err(Reason::Header)
        }
    }
}

impl Protocol for Http {
    type Conn = Conn;
    type Asked = Asked;

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn simulated(&self) -> Box<dyn Service> {
        let answer = responder::Http::new(200, &[], b"");
        Box::new(answer.expect("an empty answer can be written"))
    }

    fn conn(&self, target: usize) -> Conn {
        Conn { target, reader: Responses::default() }
    }

    fn asked(&self) -> Asked {
        Asked {
            operation: 0,
            kind: Kind::Other,
            verdict: Ok(()),
            headers: Vec::new(),
            body: BodyCheck::default(),
        }
    }

    fn open(&mut self, conn: &mut Conn, _out: &mut Vec<u8>) -> Result<Opening, Reason> {
        conn.reader.reset();
        Ok(if self.targets[conn.target].tls { Opening::Secure } else { Opening::Ready })
    }

    fn encode(
        &mut self,
        conn: &mut Conn,
        asked: &mut Asked,
        operation: OperationIndex,
        client: &Client,
        out: &mut Vec<u8>,
    ) -> Result<(), Reason> {
        if self.operations[operation].fixed.is_none() {
            self.render(operation, client);
        }
        let request = &self.operations[operation];
        asked.expect(operation, request, client);
        if let Some(fixed) = &request.fixed {
            out.extend_from_slice(&fixed[conn.target]);
            return Ok(());
        }
        let part = |index: usize| {
            let start = if index == 0 { 0 } else { self.ends[index - 1] };
            &self.rendered[start..self.ends[index]]
        };
        let count = request.headers.len();
        let body = request.body.as_ref().map(|_| part(count + 1));
        let values = (1..=count).map(part);
        request
            .write(&self.targets[conn.target].authority, part(0), values, body, out)
            .map_err(Reason::Unsendable)
    }

    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        loop {
            match conn.reader.next(asked.kind, &mut self.heads, input) {
                Ok(Event::More) => return Received::More,
                Ok(Event::Head(head)) => {
                    let expect = &self.operations[asked.operation].expect;
                    asked.verdict = expect.check_head(&head, &asked.headers);
                }
                Ok(Event::Body(data)) => asked.body.take(data),
                Ok(Event::End { keep }) => {
                    return Received::Reply { verdict: asked.verdict(), keep };
                }
                Err(error) => return Received::Broken(Reason::Http(error)),
            }
        }
    }

    fn ended(&mut self, conn: &mut Conn, asked: &mut Asked) -> Received {
        match conn.reader.closed() {
            Ok(()) => Received::Reply { verdict: asked.verdict(), keep: false },
            Err(error) => Received::Broken(Reason::Http(error)),
        }
    }
}

impl Asked {
    /// Notes what the answer must be, while the values it is made from are still there.
    fn expect(&mut self, index: OperationIndex, operation: &Operation, client: &Client) {
        self.operation = index;
        self.kind = operation.kind();
        let expect = &operation.expect;
        self.headers.resize_with(expect.headers.len().max(self.headers.len()), Vec::new);
        for ((_, value), room) in expect.headers.iter().zip(&mut self.headers) {
            room.clear();
            value.render(client, room);
        }
        let (template, checking) = match (&expect.body, &expect.contains) {
            (Some(body), _) => (Some(body), Checking::Exactly(0)),
            (None, Some(contains)) => (Some(contains), Checking::Contains(false)),
            (None, None) => (None, Checking::Nothing),
        };
        self.body.checking = checking;
        if let Some(template) = template {
            self.body.text.clear();
            self.body.tail.clear();
            template.render(client, &mut self.body.text);
        }
    }

    fn verdict(&self) -> Result<(), Reason> {
        let right = match self.body.checking {
            Checking::Nothing => true,
            Checking::Exactly(length) => length == self.body.text.len(),
            Checking::Contains(found) => found || self.body.text.is_empty(),
        };
        self.verdict.and(if right { Ok(()) } else { Err(Reason::Body) })
    }
}

impl BodyCheck {
    fn take(&mut self, data: &[u8]) {
        match &mut self.checking {
            Checking::Nothing | Checking::Contains(true) => {}
            Checking::Exactly(length) => {
                // A length beyond the text is one that no further byte brings back.
                *length = match self.text.get(*length..*length + data.len()) {
                    Some(part) if part == data => *length + data.len(),
                    _ => usize::MAX / 2,
                };
            }
            Checking::Contains(found) => {
                let overlap = self.text.len().saturating_sub(1);
                let seam = self.tail.len() + data.len().min(overlap);
                self.tail.extend_from_slice(&data[..data.len().min(overlap)]);
                *found = memmem::find(&self.tail[..seam], &self.text).is_some()
                    || memmem::find(data, &self.text).is_some();
                if data.len() >= overlap {
                    self.tail.clear();
                    self.tail.extend_from_slice(&data[data.len() - overlap..]);
                } else {
                    let surplus = self.tail.len().saturating_sub(overlap);
                    self.tail.drain(..surplus);
                }
            }
        }
    }
}
