//! What an answer must be, and what has been seen of it.

use memchr::memmem;
use wire::http::ResponseHead;

use crate::drivers::Reason;
use crate::error::PlanError;
use crate::plan::{Expect, Length};
use crate::template::Template;
use crate::workload::{Client, Program};

/// What the answers to an operation must be.
#[derive(Clone)]
pub struct Expectation {
    status: Option<Vec<u16>>,
    headers: Vec<(String, Template)>,
    body: Option<Template>,
    contains: Option<Template>,
    /// The least and the most bytes of the body.
    size: [u64; 2],
}

impl Expectation {
    pub fn compile(
        program: &Program,
        expect: &Expect,
        field: &str,
    ) -> Result<Expectation, PlanError> {
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
            size: match expect.size {
                None => [0, u64::MAX],
                Some(Length::Exactly(bytes)) => [u64::from(bytes); 2],
                Some(Length::Between(range)) => [range.low as u64, range.high as u64],
            },
        })
    }

    /// Whether the status is one that was named.
    pub fn names(&self, status: u16) -> bool {
        self.status.as_ref().is_some_and(|statuses| statuses.contains(&status))
    }
}

/// What one answer must be, and what has been seen of it.
pub struct Check {
    head: Result<(), Reason>,
    headers: Vec<Vec<u8>>,
    size: [u64; 2],
    seen_bytes: u64,
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

impl Check {
    pub fn new() -> Check {
        let body = BodyCheck::default();
        Check { head: Ok(()), headers: Vec::new(), size: [0, u64::MAX], seen_bytes: 0, body }
    }

    /// Notes what the answer must be, while the values it is made from are still there.
    pub fn expect(&mut self, expect: &Expectation, client: &Client) {
        self.size = expect.size;
        self.seen_bytes = 0;
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

    /// Looks at the head of the answer.
    pub fn head(&mut self, expect: &Expectation, head: &ResponseHead<'_>) {
        let expected = match &expect.status {
            Some(statuses) => statuses.contains(&head.status),
            None => head.status < 400,
        };
        let mut wanted = expect.headers.iter().zip(&self.headers);
        self.head = if !expected {
            Err(Reason::Status(head.status))
        } else if wanted.all(|((name, _), value)| head.has(name, value)) {
            Ok(())
        } else {
            Err(Reason::Header)
        };
    }

    /// Looks at a piece of the body.
    pub fn body(&mut self, data: &[u8]) {
        self.seen_bytes += data.len() as u64;
        self.body.take(data);
    }

    /// Whether the answer was right.
    pub fn verdict(&self) -> Result<(), Reason> {
        let right = match self.body.checking {
            Checking::Nothing => true,
            Checking::Exactly(length) => length == self.body.text.len(),
            Checking::Contains(found) => found || self.body.text.is_empty(),
        };
        let [least, most] = self.size;
        let sized = (least..=most).contains(&self.seen_bytes);
        self.head.and(if right { Ok(()) } else { Err(Reason::Body) }).and(if sized {
            Ok(())
        } else {
            Err(Reason::Size(self.seen_bytes))
        })
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
