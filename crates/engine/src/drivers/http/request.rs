//! An operation as a request that is ready to be written.

use wire::http::{Invalid, Kind, Payload, encode_request};

use crate::error::PlanError;
use crate::plan::HttpRequest;
use crate::template::Template;
use crate::workload::{Client, Program};

use super::answer::Expectation;

/// A compiled operation.
#[derive(Clone)]
pub struct Operation {
    method: String,
    path: Template,
    headers: Vec<(String, Template)>,
    /// Whether `Host` is among the headers.
    has_host: bool,
    body: Option<Template>,
    chunk_bytes: Option<usize>,
    /// The whole request for each target, when nothing in it varies.
    pub fixed: Option<Vec<Vec<u8>>>,
    /// What its answer must be.
    pub expect: Expectation,
}

/// Rendered path, header values and body of a request, and where each ends.
#[derive(Clone)]
pub struct Rendered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Rendered {
    pub fn new() -> Rendered {
        Rendered { bytes: Vec::with_capacity(4096), ends: Vec::with_capacity(64) }
    }

    fn part(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

/// How a client behaves beside what its requests say.
#[derive(Clone, Copy)]
pub struct Manners {
    /// Each transaction has a connection of its own.
    pub fresh: bool,
    pub keeps_cookies: bool,
    pub follows: bool,
}

impl Operation {
    pub fn compile(
        program: &Program,
        request: &HttpRequest,
        manners: Manners,
        expect: Expectation,
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
            if manners.keeps_cookies && name.eq_ignore_ascii_case("cookie") {
                let why = "clients that keep their cookies send them themselves";
                return Err(PlanError::new(field, name, why));
            }
            headers.push((name.clone(), program.template(value, &field)?));
        }
        let named = |wanted: &str| {
            request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        let (has_host, has_connection) = (named("host"), named("connection"));
        if manners.fresh && !manners.follows && !has_connection {
            // The server closes first, so that the port in TIME_WAIT is not one of the agent's. A
            // redirect, though, is followed on the connection it came on.
            headers.push(("Connection".to_owned(), program.template("close", field)?));
        }
        Ok(Operation {
            method: request.method.clone(),
            path: program.template(&request.path, &format!("{field}.path"))?,
            headers,
            has_host,
            body: body(program, request, field)?,
            chunk_bytes: request.chunk_bytes.map(|bytes| bytes as usize),
            fixed: None,
            expect,
        })
    }

    /// Writes a request without values once and for all, which also tells whether it can be.
    pub fn fix<'a>(
        &mut self,
        hosts: impl Iterator<Item = &'a str>,
        field: &str,
    ) -> Result<(), PlanError> {
        let headers = self.headers.iter().map(|(_, value)| value);
        let mut all = std::iter::once(&self.path).chain(headers).chain(&self.body);
        if all.any(|template| template.constant().is_none()) {
            return Ok(());
        }
        let mut rendered = Rendered::new();
        self.parts(&mut rendered, |template, out| {
            out.extend_from_slice(template.constant().unwrap_or_default());
        });
        let mut fixed = Vec::new();
        for host in hosts {
            let mut out = Vec::new();
            let written = self.write(host, &rendered, &mut out);
            written.map_err(|invalid| PlanError::new(field, "", invalid.to_string()))?;
            fixed.push(out);
        }
        self.fixed = Some(fixed);
        Ok(())
    }

    /// Renders what varies with a client's values.
    pub fn render(&self, client: &Client, rendered: &mut Rendered) {
        self.parts(rendered, |template, out| template.render(client, out));
    }

    fn parts(&self, rendered: &mut Rendered, render: impl Fn(&Template, &mut Vec<u8>)) {
        rendered.bytes.clear();
        rendered.ends.clear();
        let values = self.headers.iter().map(|(_, value)| value);
        for part in std::iter::once(&self.path).chain(values).chain(&self.body) {
            render(part, &mut rendered.bytes);
            rendered.ends.push(rendered.bytes.len());
        }
    }

    /// Appends the request to `out`; nothing when it is invalid.
    pub fn write(&self, host: &str, with: &Rendered, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let host = (!self.has_host).then_some(("Host", host.as_bytes()));
        let headers = self.headers.iter().enumerate();
        let headers = headers.map(|(index, (name, _))| (name.as_str(), with.part(index + 1)));
        let payload = match (&self.body, self.chunk_bytes) {
            (None, _) => Payload::None,
            (Some(_), None) => Payload::Whole(with.part(self.headers.len() + 1)),
            (Some(_), Some(bytes)) => Payload::Chunks(with.part(self.headers.len() + 1), bytes),
        };
        encode_request(&self.method, with.part(0), host.into_iter().chain(headers), payload, out)
    }

    pub fn kind(&self) -> Kind {
        if self.method == "HEAD" { Kind::Head } else { Kind::Other }
    }
}

fn body(
    program: &Program,
    request: &HttpRequest,
    field: &str,
) -> Result<Option<Template>, PlanError> {
    let Some(path) = &request.body_file else {
        let template = |body: &String| program.template(body, &format!("{field}.body"));
        return request.body.as_ref().map(template).transpose();
    };
    let read = std::fs::read(path).map_err(|error| {
        PlanError::new(format!("{field}.body_file"), path, format!("cannot be read: {error}"))
    });
    Ok(Some(Template::plain(&read?)))
}
