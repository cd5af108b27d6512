//! What the drivers of SQL share: statements with bound values, and what their answers must be.
//!
//! [`Sql`] knows where a statement of the Plan binds its values and what the statement may do;
//! [`Expectation`] and [`Checking`] hold an answer against `expect`. Absent: any server; a
//! statement is only told apart into strings, comments and words, as its [`Dialect`] has them.

mod answer;
mod scanner;

pub use answer::{Cell, Checking, Expectation, Rows, Wrong};
pub use scanner::Effect;

use std::fmt::Write as _;

use self::scanner::Scanner;
use crate::error::PlanError;
use crate::plan::Request;
use crate::template::{Piece, pieces};
use crate::values::ValueId;
use crate::workload::{OperationIndex, OperationInfo, Program};

/// Whose SQL it is: how strings and comments are written, and how a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SQLite`'s.
    Sqlite,
    /// `PostgreSQL`'s.
    PostgreSql,
    /// That of `MySQL` and `MariaDB`.
    MySql,
}

impl Dialect {
    /// The name of its driver.
    fn driver(self) -> &'static str {
        match self {
            Dialect::Sqlite => "sqlite",
            Dialect::PostgreSql => "postgresql",
            Dialect::MySql => "mysql",
        }
    }

    /// The most parameters of one statement.
    fn most_parameters(self) -> usize {
        match self {
            Dialect::Sqlite => 32_766,
            Dialect::PostgreSql | Dialect::MySql => 65_535,
        }
    }
}

/// A statement with the places of its values.
#[derive(Clone, Debug)]
pub struct Sql {
    dialect: Dialect,
    parts: Vec<Part>,
    /// What it does, as far as transactions go.
    pub effect: Effect,
}

/// A stretch of a statement.
#[derive(Clone, Debug)]
pub enum Part {
    /// As it is written.
    Literal(String),
    /// One parameter.
    Value(ValueId),
    /// As many parameters as the list has elements.
    List(ValueId),
}

impl Sql {
    /// Compiles an operation's statement, which its request must be.
    pub fn compile(
        program: &Program,
        operation: &OperationInfo,
        dialect: Dialect,
    ) -> Result<Sql, PlanError> {
        let Request::Sql(text) = &operation.plan.request else {
            let why = format!("the driver `{}` speaks `sql` requests alone", dialect.driver());
            return Err(PlanError::new(format!("{}.request", operation.field), "", why));
        };
        let field = &format!("{}.request.sql", operation.field);
        let wrong = |why: &str| PlanError::new(field, text, why);
        let (mut scanner, mut parts, mut parameters) = (Scanner::new(dialect), Vec::new(), 0);
        for piece in pieces(text, field)? {
            match piece {
                Piece::Literal(literal) => {
                    scanner.read(literal).map_err(wrong)?;
                    parts.push(Part::Literal(literal.to_owned()));
                }
                Piece::Mention(name) => {
                    scanner.mention().map_err(wrong)?;
                    let id = program.id(name, field, text)?;
                    let list = program.list_len(id).filter(|_| operation.each != Some(id));
                    parameters += list.unwrap_or(1);
                    parts.push(list.map_or(Part::Value(id), |_| Part::List(id)));
                }
            }
        }
        let most = dialect.most_parameters();
        if parameters > most {
            let driver = dialect.driver();
            return Err(wrong(&format!("{parameters} parameters; {driver} takes at most {most}")));
        }
        let effect = scanner.effect().ok_or_else(|| wrong("there is no statement"))?;
        Ok(Sql { dialect, parts, effect })
    }

    /// Its stretches, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The lists whose lengths decide how many parameters there are.
    pub fn lists(&self) -> impl Iterator<Item = ValueId> {
        self.parts.iter().filter_map(|part| match part {
            Part::List(id) => Some(*id),
            _ => None,
        })
    }

    /// The values in order of their parameters.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(id) | Part::List(id) => Some(*id),
            Part::Literal(_) => None,
        })
    }

    /// The statement's text for lists of these lengths.
    pub fn text(&self, lengths: &[usize]) -> String {
        let (mut text, mut lengths, mut number) = (String::new(), lengths.iter(), 0);
        for part in &self.parts {
            let count = match part {
                Part::Literal(literal) => {
                    text.push_str(literal);
                    continue;
                }
                Part::Value(_) => 1,
                Part::List(_) => lengths.next().copied().unwrap_or(0),
            };
            if count == 0 && self.dialect != Dialect::Sqlite {
                // `IN ()` is SQLite's alone; nothing is equal to NULL.
                text.push_str("NULL");
            }
            for nth in 0..count {
                if nth > 0 {
                    text.push(',');
                }
                number += 1;
                match self.dialect {
                    Dialect::PostgreSql => write!(text, "${number}").expect("a string takes all"),
                    Dialect::Sqlite | Dialect::MySql => text.push('?'),
                }
            }
        }
        text
    }
}

/// Whether the transaction of this index runs between a `BEGIN` and a `COMMIT` that its driver
/// adds: it sends several statements, at least one of them a write, and none that begins or ends a
/// transaction itself. An application that writes several rows for one action would do so.
pub fn is_wrapped(
    program: &Program,
    transaction: usize,
    effect: impl Fn(OperationIndex) -> Effect,
) -> bool {
    let operations = || program.transactions()[transaction].operations.clone();
    let several = operations().len() > 1
        || operations().any(|index| program.operations()[index].is_stepped());
    several
        && operations().any(|index| effect(index) == Effect::Writes)
        && operations().all(|index| effect(index) != Effect::Controls)
}
