//! HTTP/1.1: operations become requests, answers become verdicts.
//!
//! Capabilities: any method but CONNECT, templates in path, headers and body, bodies from files and
//! in chunks; status, headers, body and its size are checked; cookies and redirects where the Plan
//! asks for them. Absent: compression, which is left as it is, and other hosts than the target.

mod answer;
mod request;

use wire::http::{
    Astray, Event, Heads, Jar, Kind, ResponseHead, Responses, follow, is_redirect, request_line,
};

use super::target::{Scheme, Target};
use super::{Opening, Protocol, Reason, Received};
use crate::error::PlanError;
use crate::plan::{self, Connection, Cookies, Plan, Redirects, Request};
use crate::responder::{self, Service};
use crate::workload::{Client, OperationIndex, Program};

use answer::{Check, Expectation};
use request::{Manners, Operation, Rendered};

/// What a target may be.
const SCHEMES: &[Scheme] = &[
    Scheme { name: "http", port: 80, tls: false },
    Scheme { name: "https", port: 443, tls: true },
];

/// As many redirects in a row are followed; browsers give up at twenty.
const MOST_HOPS: u8 = 10;

/// The driver of one worker; clone it for another.
#[derive(Clone)]
pub struct Http {
    operations: Vec<Operation>,
    targets: Vec<Target>,
    manners: Manners,
    heads: Heads,
    rendered: Rendered,
}

/// What is remembered of a connection: where its answer stands.
pub struct Conn {
    target: usize,
    reader: Responses,
}

/// What an answer must be, and what has been seen of it; and what the client goes on to know.
pub struct Asked {
    operation: OperationIndex,
    kind: Kind,
    check: Check,
    jar: Jar,
    trail: Trail,
}

/// Where redirects lead.
#[derive(Default)]
struct Trail {
    /// The present request, without cookies, and the one that follows it.
    request: Vec<u8>,
    next: Vec<u8>,
    hops: u8,
    /// Whether the present answer is a redirect, and whether it can be followed.
    leads: Option<Result<(), Astray>>,
}

impl Http {
    /// Compiles the program's operations for these targets.
    pub fn compile(program: &Program, plan: &Plan) -> Result<Http, PlanError> {
        let plan::Driver::Http { targets, cookies, redirects } = &plan.driver else {
            return Err(PlanError::new("driver", "", "this is not the driver `http`"));
        };
        let mut http = Http {
            operations: Vec::new(),
            targets: Target::all(targets, SCHEMES)?,
            manners: Manners {
                fresh: plan.connection == Connection::New,
                keeps_cookies: *cookies == Cookies::Keep,
                follows: *redirects == Redirects::Follow,
            },
            heads: Heads::new(),
            rendered: Rendered::new(),
        };
        for operation in program.operations() {
            let field = format!("{}.request.http", operation.field);
            let Request::Http(request) = &operation.plan.request else {
                let why = "the driver `http` speaks HTTP alone";
                return Err(PlanError::new(format!("{}.request", operation.field), "", why));
            };
            let expect = Expectation::compile(program, &operation.plan.expect, &operation.field)?;
            let mut compiled = Operation::compile(program, request, http.manners, expect, &field)?;
            compiled.fix(http.targets.iter().map(|target| target.authority.as_str()), &field)?;
            http.operations.push(compiled);
        }
        Ok(http)
    }

    /// Notes an answer's head.
    fn head(
        manners: Manners,
        expect: &Expectation,
        asked: &mut Asked,
        head: &ResponseHead<'_>,
        secure: bool,
    ) {
        let Asked { check, jar, trail, .. } = asked;
        if manners.keeps_cookies
            && let Some((_, target)) = request_line(&trail.request)
        {
            head.any(|header| {
                if header.name.eq_ignore_ascii_case("set-cookie") {
                    jar.take(header.value, target);
                }
                false
            });
        }
        if manners.follows && is_redirect(head.status) && !expect.names(head.status) {
            trail.leads = Some(trail.lead(head, secure));
        } else {
            check.head(expect, head);
        }
    }
}

impl Trail {
    /// Notes a request, the first or the next.
    fn begin(&mut self, request: &[u8]) {
        self.request.clear();
        self.request.extend_from_slice(request);
        self.hops = 0;
        self.leads = None;
    }

    /// Writes the request that a redirect asks for.
    fn lead(&mut self, head: &ResponseHead<'_>, secure: bool) -> Result<(), Astray> {
        let Trail { request, next, hops, .. } = self;
        *hops += 1;
        if *hops > MOST_HOPS {
            return Err(Astray::Endless);
        }
        next.clear();
        let mut followed = Err(Astray::Nowhere);
        head.any(|header| {
            let is_it = header.name.eq_ignore_ascii_case("location");
            if is_it {
                followed = follow(request, head.status, header.value, secure, next);
            }
            is_it
        });
        followed
    }
}

impl Asked {
    /// What the whole answer comes to.
    fn end(&mut self, keep: bool) -> Received {
        let verdict = match self.trail.leads.take() {
            None => self.check.verdict(),
            Some(Ok(())) if keep => return Received::Further,
            Some(Ok(())) => Err(Reason::Redirect(Astray::Closed)),
            Some(Err(astray)) => Err(Reason::Redirect(astray)),
        };
        Received::Reply { verdict, keep }
    }

    /// Puts the client's cookies into the request that begins at `start` of `out`.
    fn add_cookies(&self, secure: bool, start: usize, out: &mut Vec<u8>) {
        let Some(line) = out[start..].iter().position(|&byte| byte == b'\n') else { return };
        let Some((_, target)) = request_line(&self.trail.request) else { return };
        let before = out.len();
        self.jar.write(target, secure, out);
        let added = out.len() - before;
        out[start + line + 1..].rotate_right(added);
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
            check: Check::new(),
            jar: Jar::default(),
            trail: Trail::default(),
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
        let request = &self.operations[operation];
        asked.operation = operation;
        asked.kind = request.kind();
        asked.check.expect(&request.expect, client);
        let start = out.len();
        let target = &self.targets[conn.target];
        if let Some(fixed) = &request.fixed {
            out.extend_from_slice(&fixed[conn.target]);
        } else {
            request.render(client, &mut self.rendered);
            let written = request.write(&target.authority, &self.rendered, out);
            written.map_err(Reason::Unsendable)?;
        }
        if self.manners.follows || self.manners.keeps_cookies {
            asked.trail.begin(&out[start..]);
        }
        if self.manners.keeps_cookies {
            asked.add_cookies(target.tls, start, out);
        }
        Ok(())
    }

    fn receive(&mut self, conn: &mut Conn, asked: &mut Asked, input: &mut &[u8]) -> Received {
        loop {
            match conn.reader.next(asked.kind, &mut self.heads, input) {
                Ok(Event::More) => return Received::More,
                Ok(Event::Head(head)) => {
                    let expect = &self.operations[asked.operation].expect;
                    let secure = self.targets[conn.target].tls;
                    Http::head(self.manners, expect, asked, &head, secure);
                }
                Ok(Event::Body(_)) if asked.trail.leads.is_some() => {}
                Ok(Event::Body(data)) => asked.check.body(data),
                Ok(Event::End { keep }) => return asked.end(keep),
                Err(error) => return Received::Broken(Reason::Http(error)),
            }
        }
    }

    fn further(&mut self, conn: &mut Conn, asked: &mut Asked, out: &mut Vec<u8>) {
        let start = out.len();
        std::mem::swap(&mut asked.trail.request, &mut asked.trail.next);
        out.extend_from_slice(&asked.trail.request);
        if self.manners.keeps_cookies {
            asked.add_cookies(self.targets[conn.target].tls, start, out);
        }
    }

    fn ended(&mut self, conn: &mut Conn, asked: &mut Asked) -> Received {
        match conn.reader.closed() {
            Ok(()) => asked.end(false),
            Err(error) => Received::Broken(Reason::Http(error)),
        }
    }
}
