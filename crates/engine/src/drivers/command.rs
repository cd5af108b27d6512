//! Commands made of arguments, as Redis and memcached are asked.
//!
//! An argument is a template. One that mentions a list, `k:${ids}`, stands for as many arguments as
//! the list has elements, unless the operation is asked `for_each` of them. What an answer must be
//! is held against its texts as they are found. Absent: how a protocol writes its arguments, and
//! where the texts of its answers stand.

use memchr::memmem;

use super::Reason;
use super::sql::{Rows, Wrong};
use crate::error::PlanError;
use crate::plan::Request;
use crate::template::{Template, Values};
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, Keyed, OperationInfo, Program};

/// An argument of a command, or several.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its text; where there is a list, that of one element.
    pub template: Template,
    /// The list of whose elements it is made, one argument each.
    pub list: Option<ValueId>,
}

/// The arguments of an operation, its name first.
pub fn arguments(
    program: &Program,
    operation: &OperationInfo,
    driver: &str,
) -> Result<Vec<Argument>, PlanError> {
    let field = format!("{}.request.command", operation.field);
    let Request::Command(words) = &operation.plan.request else {
        let why = format!("the driver `{driver}` speaks commands alone");
        return Err(PlanError::new(format!("{}.request", operation.field), "", why));
    };
    if words.is_empty() {
        return Err(PlanError::new(field, "[]", "a command has at least a name"));
    }
    let argument = |(index, text): (usize, &String)| {
        let field = format!("{field}[{index}]");
        let template = program.template(text, &field)?;
        let is_list = |id: &ValueId| program.list_len(*id).is_some() && operation.each != Some(*id);
        let mut lists: Vec<ValueId> = template.ids().filter(is_list).collect();
        lists.dedup();
        if lists.len() > 1 {
            let why = "an argument is made of the elements of one list alone";
            return Err(PlanError::new(field, text, why));
        }
        Ok(Argument { template, list: lists.pop() })
    };
    let arguments: Vec<Argument> =
        words.iter().enumerate().map(argument).collect::<Result<_, _>>()?;
    if arguments[0].template.constant().is_none_or(<[u8]>::is_empty) {
        let why = "the name of a command does not vary";
        return Err(PlanError::new(format!("{field}[0]"), &words[0], why));
    }
    Ok(arguments)
}

/// The elements of a list value.
pub fn elements(client: &Client, list: ValueId) -> &[i64] {
    match client.drawn(list) {
        Drawn::List(elements) => elements,
        _ => &[],
    }
}

/// A client's values, with a list standing for one of its elements.
pub struct Element<'a> {
    /// Whose values they are.
    pub client: &'a Client,
    /// The list.
    pub list: ValueId,
    /// The element.
    pub element: i64,
}

impl Values for Element<'_> {
    fn drawn(&self, id: ValueId) -> Drawn<'_> {
        if id == self.list { Drawn::Integer(self.element) } else { self.client.drawn(id) }
    }
}

/// The value that says which records a command asks for: its list, or `key`.
fn asked_for(arguments: &[Argument], key: ValueId) -> Option<ValueId> {
    let list = arguments.iter().find_map(|argument| argument.list);
    let mentioned = || arguments.iter().any(|a| a.template.ids().any(|id| id == key));
    list.or_else(|| mentioned().then_some(key))
}

/// What the answers of an operation must be.
#[derive(Clone, Debug)]
pub struct Expectation {
    reply: Option<Template>,
    contains: Option<Template>,
    rows: Option<Rows>,
    /// What belongs to the keys that a value says are asked for.
    keyed: Option<(Keyed, ValueId)>,
}

/// What one answer must be, and what was seen of it; its buffers are reused.
#[derive(Debug, Default)]
pub struct Awaited {
    reply: Vec<u8>,
    contains: Vec<u8>,
    /// How many rows; none where that was drawn as something else than a number.
    rows: Option<u64>,
    /// The keys that were asked for, in order.
    keys: Vec<i64>,
    /// Room to derive a value in.
    room: Vec<u8>,
    /// Whether the text that is the whole answer is the expected one.
    replied: Option<bool>,
    contained: bool,
    /// How many texts were what belongs to their keys; none when one was not.
    held: Option<usize>,
}

impl Expectation {
    /// Compiles what an operation of these arguments expects.
    pub fn compile(
        program: &Program,
        operation: &OperationInfo,
        arguments: &[Argument],
    ) -> Result<Expectation, PlanError> {
        let expect = &operation.plan.expect;
        let field = |key: &str| format!("{}.expect.{key}", operation.field);
        let compile = |text: &Option<String>, key: &str| {
            text.as_ref().map(|text| program.template(text, &field(key))).transpose()
        };
        let rows = expect.rows.as_ref();
        let rows = rows.map(|rows| Rows::compile(rows, program, operation, &field("rows")));
        let keyed = expect.keyed.as_ref().map(|name| {
            let keyed = program.keyed_check(name, &field("keyed"))?;
            let why = format!("the command asks for no record that `{name}` belongs to");
            let asked = asked_for(arguments, keyed.key);
            Ok((keyed, asked.ok_or_else(|| PlanError::new(field("keyed"), name, why))?))
        });
        Ok(Expectation {
            reply: compile(&expect.reply, "reply")?,
            contains: compile(&expect.contains, "contains")?,
            rows: rows.transpose()?,
            keyed: keyed.transpose()?,
        })
    }

    /// Whether it matters which texts stand in an answer.
    #[inline]
    pub fn looks(&self) -> bool {
        self.contains.is_some() || self.keyed.is_some()
    }

    /// Notes what the next answer must be, while the values it is made from are there.
    #[inline]
    pub fn begin(&self, awaited: &mut Awaited, client: &Client) {
        for (template, text) in
            [(&self.reply, &mut awaited.reply), (&self.contains, &mut awaited.contains)]
        {
            // Text that is always the same is compared with as it stands there.
            if let Some(template) = template
                && template.constant().is_none()
            {
                text.clear();
                template.render(client, text);
            }
        }
        if let Some(rows) = self.rows {
            awaited.rows = rows.count(client);
        }
        if let Some((_, keys)) = self.keyed {
            awaited.keys.clear();
            match client.drawn(keys) {
                Drawn::Integer(key) => awaited.keys.push(key),
                Drawn::List(keys) => awaited.keys.extend_from_slice(keys),
                _ => {}
            }
        }
        awaited.replied = None;
        awaited.contained = false;
        awaited.held = Some(0);
    }

    /// Looks at a text that is the whole answer, if it is the `only` one of its server's; one that
    /// is not there is not an empty one.
    #[inline]
    pub fn whole<'a>(
        &self,
        awaited: &mut Awaited,
        only: bool,
        text: impl FnOnce() -> Option<&'a [u8]>,
    ) {
        if let Some(template) = &self.reply {
            let expected = template.constant().unwrap_or(&awaited.reply);
            let right = only && awaited.replied != Some(false);
            awaited.replied = Some(right && text() == Some(expected));
        }
    }

    /// Looks at a text of the answer, or at the lack of one; it is that of the key of this place
    /// among those asked for.
    #[inline]
    pub fn look(&self, awaited: &mut Awaited, place: usize, text: Option<&[u8]>) {
        if let Some(template) = &self.contains {
            let expected = template.constant().unwrap_or(&awaited.contains);
            let found = text.and_then(|text| memmem::find(text, expected));
            awaited.contained |= found.is_some();
        }
        if let (Some((keyed, _)), Some(held)) = (&self.keyed, awaited.held) {
            let key = awaited.keys.get(place).map(|&key| Drawn::Integer(key));
            let right =
                key.zip(text).is_some_and(|(key, text)| keyed.holds(key, text, &mut awaited.room));
            awaited.held = right.then_some(held + 1);
        }
    }

    /// Whether an answer of so many rows is right, once all its texts were looked at.
    #[inline]
    pub fn verdict(&self, awaited: &Awaited, rows: impl Fn() -> u64) -> Result<(), Reason> {
        if self.reply.is_some() && awaited.replied != Some(true)
            || self.contains.is_some() && !awaited.contained
        {
            return Err(Reason::Body);
        }
        if self.rows.is_some() {
            let found = rows();
            match awaited.rows {
                None => return Err(Reason::Rows(Wrong::NoNumber)),
                Some(expected) if found < expected => return Err(Reason::Rows(Wrong::Fewer)),
                Some(expected) if found > expected => return Err(Reason::Rows(Wrong::More)),
                Some(_) => {}
            }
        }
        if self.keyed.is_some() && awaited.held != Some(awaited.keys.len()) {
            return Err(Reason::Body);
        }
        Ok(())
    }
}
