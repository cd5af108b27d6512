//! A statement of the Plan: where its values are bound, and what it may do.
//!
//! Absent: `SQLite` itself; this only tells strings, comments and words apart.

use crate::error::PlanError;
use crate::template::{Piece, pieces};
use crate::values::ValueId;
use crate::workload::{OperationInfo, Program};

/// The most parameters that `SQLite` binds unless built otherwise.
const MOST_PARAMETERS: usize = 32_766;

/// A statement with the places of its values.
#[derive(Clone, Debug)]
pub(super) struct Sql {
    parts: Vec<Part>,
    pub effect: Effect,
}

#[derive(Clone, Debug)]
enum Part {
    Literal(String),
    /// One parameter.
    Value(ValueId),
    /// As many parameters as the list has elements.
    List(ValueId),
}

/// What a statement does, as far as transactions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Reads,
    Writes,
    /// It begins or ends a transaction itself, or cannot run within one.
    Controls,
}

impl Sql {
    pub(super) fn compile(
        text: &str,
        program: &Program,
        operation: &OperationInfo,
        field: &str,
    ) -> Result<Sql, PlanError> {
        let wrong = |why: &str| PlanError::new(field, text, why);
        let (mut scanner, mut parts, mut parameters) = (Scanner::default(), Vec::new(), 0);
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
        if parameters > MOST_PARAMETERS {
            let why = format!("{parameters} parameters; SQLite takes at most {MOST_PARAMETERS}");
            return Err(wrong(&why));
        }
        let effect = scanner.effect().ok_or_else(|| wrong("there is no statement"))?;
        Ok(Sql { parts, effect })
    }

    /// The lists whose lengths decide how many parameters there are.
    pub(super) fn lists(&self) -> impl Iterator<Item = ValueId> {
        self.parts.iter().filter_map(|part| match part {
            Part::List(id) => Some(*id),
            _ => None,
        })
    }

    /// The values in order of their parameters.
    pub(super) fn values(&self) -> impl Iterator<Item = ValueId> {
        self.parts.iter().filter_map(|part| match part {
            Part::Value(id) | Part::List(id) => Some(*id),
            Part::Literal(_) => None,
        })
    }

    /// The statement's text for lists of these lengths.
    pub(super) fn text(&self, lengths: &[usize]) -> String {
        let (mut text, mut lengths) = (String::new(), lengths.iter());
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Value(_) => text.push('?'),
                Part::List(_) => {
                    let length = lengths.next().copied().unwrap_or(0);
                    text.push_str(&vec!["?"; length].join(","));
                }
            }
        }
        text
    }
}

/// Follows quotes and comments through the stretches of a statement.
#[derive(Debug, Default)]
struct Scanner {
    state: State,
    before: char,
    words: Vec<String>,
    word: String,
    ended: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    Quoted(char),
    LineComment,
    BlockComment,
}

impl Scanner {
    fn read(&mut self, literal: &str) -> Result<(), &'static str> {
        for character in literal.chars() {
            let before = std::mem::replace(&mut self.before, character);
            match self.state {
                State::Plain => self.plain(before, character)?,
                // A doubled quote leaves and enters again, which comes to the same.
                State::Quoted(end) if character == end => self.state = State::Plain,
                State::LineComment if character == '\n' => self.state = State::Plain,
                State::BlockComment if (before, character) == ('*', '/') => {
                    (self.state, self.before) = (State::Plain, ' ');
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn plain(&mut self, before: char, character: char) -> Result<(), &'static str> {
        self.state = match (before, character) {
            ('-', '-') => State::LineComment,
            ('/', '*') => {
                self.before = ' ';
                State::BlockComment
            }
            (_, '\'' | '"' | '`') => State::Quoted(character),
            (_, '[') => State::Quoted(']'),
            _ => State::Plain,
        };
        let starts_comment = matches!(character, '-' | '/' | '*');
        if self.ended && !character.is_whitespace() && !starts_comment && character != ';' {
            return Err(
                "an operation is one statement; put the next one into an operation of its \
                        own",
            );
        }
        match character {
            '?' => return Err("a value is written as `${name}`, not as `?`"),
            ';' => self.ended = true,
            _ => {}
        }
        if character.is_alphanumeric() || character == '_' {
            self.word.extend(character.to_uppercase());
        } else {
            self.end_word();
        }
        Ok(())
    }

    fn mention(&mut self) -> Result<(), &'static str> {
        self.end_word();
        match self.state {
            State::Plain => Ok(()),
            State::Quoted(_) => {
                Err("a value within quotes is not bound; write `${name}` without quotes")
            }
            State::LineComment | State::BlockComment => Err("a value is mentioned in a comment"),
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn effect(mut self) -> Option<Effect> {
        const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "REPLACE"];
        self.end_word();
        Some(match self.words.first()?.as_str() {
            "SELECT" | "VALUES" | "EXPLAIN" | "PRAGMA" => Effect::Reads,
            "WITH" if !self.words.iter().any(|word| CHANGES.contains(&word.as_str())) => {
                Effect::Reads
            }
            "BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "VACUUM"
            | "ATTACH" | "DETACH" => Effect::Controls,
            _ => Effect::Writes,
        })
    }
}
