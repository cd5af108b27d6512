//! The operations of a Plan as statements: their texts, their lists' lengths and their values.

use std::slice;

use wire::mysql::{Parameter, execute, literal, query};

use crate::drivers::sql::{Dialect, Effect, Expectation, Part, Sql};
use crate::error::PlanError;
use crate::plan::{Length, Plan, Request, Value};
use crate::template::{Template, Values};
use crate::values::{Drawn, ValueId};
use crate::workload::{Client, OperationIndex, OperationInfo, Program};

/// With this many combinations of lengths, a connection prepares all of them as it is opened;
/// where there are more, the greatest, and others when they come up.
const MOST_PREPARED_AT_ONCE: usize = 128;
/// The most combinations of lengths that there may be.
const MOST_COMBINATIONS: usize = 1 << 16;

/// An operation, compiled.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub transaction: usize,
    what: What,
    pub expect: Expectation,
    /// Whether it is sent as text, whatever the Plan says of the others: what begins and ends
    /// transactions cannot be prepared everywhere.
    pub as_text: bool,
    values: Vec<ValueId>,
    lists: Vec<List>,
    /// The number of its first statement; one for each combination of lengths follows.
    first: usize,
}

#[derive(Clone, Debug)]
enum What {
    Sql(Sql),
    /// Rows by one `INSERT`, for each element of the operation's list.
    Rows {
        into: String,
        row: Vec<Template>,
    },
}

#[derive(Clone, Copy, Debug)]
struct List {
    id: ValueId,
    least: usize,
    most: usize,
}

impl List {
    fn count(&self) -> usize {
        self.most - self.least + 1
    }
}

/// A statement that connections prepare.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub sql: Vec<u8>,
    /// Whether that is done as the connection is opened.
    pub at_once: bool,
}

impl Operation {
    /// Compiles an operation and appends the texts of its statements, unless it is sent as text.
    pub(super) fn compile(
        plan: &Plan,
        program: &Program,
        operation: &OperationInfo,
        text: bool,
        texts: &mut Vec<Text>,
    ) -> Result<Operation, PlanError> {
        let mut compiled = Operation {
            transaction: operation.transaction,
            what: What::compile(program, operation)?,
            as_text: true,
            expect: Expectation::compile(program, operation)?,
            values: Vec::new(),
            first: texts.len(),
            lists: Vec::new(),
        };
        if let What::Sql(sql) = &compiled.what
            && !text
            && sql.effect != Effect::Controls
        {
            compiled.as_text = false;
            compiled.values = sql.values().collect();
            compiled.lists = sql.lists().map(|id| list(plan, program, id)).collect();
            compiled.write(sql, operation, texts)?;
        }
        Ok(compiled)
    }

    /// What it does, as far as transactions go.
    pub(super) fn effect(&self) -> Effect {
        match &self.what {
            What::Sql(sql) => sql.effect,
            What::Rows { .. } => Effect::Writes,
        }
    }

    fn write(
        &self,
        sql: &Sql,
        operation: &OperationInfo,
        texts: &mut Vec<Text>,
    ) -> Result<(), PlanError> {
        let counts = self.lists.iter().map(List::count);
        let combinations = counts.fold(1, usize::saturating_mul);
        if combinations > MOST_COMBINATIONS {
            let why = format!(
                "its lists have {combinations} combinations of lengths, each a statement of its \
                 own; at most {MOST_COMBINATIONS} are prepared: use `protocol: text`"
            );
            return Err(PlanError::new(format!("{}.request.sql", operation.field), "", why));
        }
        for number in 0..combinations {
            let mut rest = number;
            let length = |list: &List| {
                let length = list.least + rest % list.count();
                rest /= list.count();
                length
            };
            let lengths: Vec<usize> = self.lists.iter().map(length).collect();
            let at_once = combinations <= MOST_PREPARED_AT_ONCE || number + 1 == combinations;
            texts.push(Text { sql: sql.text(&lengths).into_bytes(), at_once });
        }
        Ok(())
    }

    /// The number of the statement for the client's values.
    #[inline]
    pub(super) fn statement(&self, client: &Client) -> usize {
        let (mut number, mut stride) = (self.first, 1);
        for list in &self.lists {
            number += stride * (length(client, list.id).clamp(list.least, list.most) - list.least);
            stride *= list.count();
        }
        number
    }

    /// Appends the execution of the statement of this number at the server.
    #[inline]
    pub(super) fn execute(&self, statement: u32, client: &Client, out: &mut Vec<u8>) {
        let lists: usize = self.lists.iter().map(|list| length(client, list.id)).sum();
        let count = self.values.len() - self.lists.len() + lists;
        let values = self.values.iter().flat_map(|&id| Parameters::of(client.drawn(id)));
        execute(statement, count, values, out);
    }

    /// Appends the statement with its values in it; `scratch` is room for it and for a value.
    pub(super) fn query(
        &self,
        (program, index): (&Program, OperationIndex),
        client: &Client,
        backslashes: bool,
        (statement, value): (&mut Vec<u8>, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) {
        statement.clear();
        match &self.what {
            What::Sql(sql) => write_literals(sql, client, backslashes, statement),
            What::Rows { into, row } => {
                statement.extend_from_slice(b"INSERT INTO ");
                statement.extend_from_slice(into.as_bytes());
                let mut before_row = &b" VALUES ("[..];
                program.for_each(client, index, |client| {
                    statement.extend_from_slice(before_row);
                    before_row = b",(";
                    for (index, column) in row.iter().enumerate() {
                        statement.extend_from_slice(if index > 0 { b"," } else { b"" });
                        let found = column.value().map(|id| client.drawn(id));
                        let found = found.and_then(|drawn| Parameters::of(drawn).next());
                        let written = found.unwrap_or_else(|| {
                            value.clear();
                            column.render(client, value);
                            Parameter::Text(value)
                        });
                        literal(written, backslashes, statement);
                    }
                    statement.push(b')');
                });
            }
        }
        query(statement, out);
    }
}

impl What {
    fn compile(program: &Program, operation: &OperationInfo) -> Result<What, PlanError> {
        let Request::Copy(copy) = &operation.plan.request else {
            return Sql::compile(program, operation, Dialect::MySql).map(What::Sql);
        };
        let field = |index| format!("{}.request.copy.row[{index}]", operation.field);
        let templates = copy.row.iter().enumerate();
        let row = templates.map(|(index, text)| program.template(text, &field(index)));
        Ok(What::Rows { into: copy.into.clone(), row: row.collect::<Result<_, _>>()? })
    }
}

fn write_literals(sql: &Sql, client: &Client, backslashes: bool, out: &mut Vec<u8>) {
    for part in sql.parts() {
        match part {
            Part::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Part::Value(id) | Part::List(id) => {
                let values = Parameters::of(client.drawn(*id));
                if values.clone().next().is_none() {
                    out.extend_from_slice(b"NULL");
                }
                for (nth, value) in values.enumerate() {
                    out.extend_from_slice(if nth > 0 { b"," } else { b"" });
                    literal(value, backslashes, out);
                }
            }
        }
    }
}

/// How long a list may be.
fn list(plan: &Plan, program: &Program, id: ValueId) -> List {
    let most = program.list_len(id).unwrap_or(0);
    let least = match plan.workload.values.get(program.name(id)) {
        Some(Value::List { length: Length::Between(range), .. }) => {
            usize::try_from(range.low).unwrap_or(0)
        }
        // The last one is shorter, and those beyond it are empty.
        Some(Value::Batch { .. }) => 0,
        _ => most,
    };
    List { id, least: least.min(most), most }
}

#[inline]
fn length(client: &Client, list: ValueId) -> usize {
    match client.drawn(list) {
        Drawn::List(elements) => elements.len(),
        _ => 1,
    }
}

/// A value's parameters: one, or one for each element.
#[derive(Clone)]
enum Parameters<'a> {
    One(Option<Parameter<'a>>),
    List(slice::Iter<'a, i64>),
}

impl<'a> Parameters<'a> {
    #[inline]
    fn of(drawn: Drawn<'a>) -> Parameters<'a> {
        Parameters::One(Some(match drawn {
            Drawn::Integer(integer) => Parameter::Integer(integer),
            Drawn::Real(real) => Parameter::Real(real),
            Drawn::Text(text) => Parameter::Text(text),
            Drawn::Bytes(bytes) => Parameter::Bytes(bytes),
            Drawn::List(list) => return Parameters::List(list.iter()),
        }))
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Parameter<'a>;

    #[inline]
    fn next(&mut self) -> Option<Parameter<'a>> {
        match self {
            Parameters::One(value) => value.take(),
            Parameters::List(elements) => elements.next().map(|&e| Parameter::Integer(e)),
        }
    }
}
