//! Follows quotes and comments through the stretches of a statement.

use super::Dialect;

/// What a statement does, as far as transactions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It may change something.
    Writes,
    /// It begins or ends a transaction itself, or cannot run within one.
    Controls,
}

#[derive(Debug)]
pub(super) struct Scanner {
    dialect: Dialect,
    state: State,
    before: char,
    words: Vec<String>,
    word: String,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Plain,
    Quoted {
        end: char,
        /// Whether a backslash takes the next character's meaning away.
        escapes: bool,
    },
    /// Between the dollars that open a dollar-quoted string: its tag so far.
    Tag(String),
    /// Within a dollar-quoted string: how it ends, and the end of what was read.
    Dollars(String, String),
    LineComment,
    /// Comments within comments, where the dialect has them.
    BlockComment(u32),
}

impl Scanner {
    pub(super) fn new(dialect: Dialect) -> Scanner {
        let (words, word) = (Vec::new(), String::new());
        Scanner { dialect, state: State::Plain, before: ' ', words, word, ended: false }
    }

    pub(super) fn read(&mut self, literal: &str) -> Result<(), &'static str> {
        for character in literal.chars() {
            let before = std::mem::replace(&mut self.before, character);
            match &mut self.state {
                State::Plain => self.plain(before, character)?,
                State::Quoted { escapes: true, .. } if before == '\\' => self.before = ' ',
                // A doubled quote leaves and enters again, which comes to the same.
                State::Quoted { end, .. } if character == *end => self.state = State::Plain,
                State::Tag(tag) => {
                    tag.push(character);
                    if character == '$' {
                        self.state = State::Dollars(std::mem::take(tag), String::new());
                    } else if character.is_ascii_digit() && tag.len() == 2 {
                        return Err("a value is written as `${name}`, not as `$1`");
                    } else if !character.is_alphanumeric() && character != '_' {
                        self.state = State::Plain;
                    }
                }
                State::Dollars(end, seen) => {
                    seen.push(character);
                    if seen.ends_with(end.as_str()) {
                        self.state = State::Plain;
                    }
                }
                State::LineComment if character == '\n' => self.state = State::Plain,
                State::BlockComment(depth) => match (before, character) {
                    ('*', '/') => {
                        self.before = ' ';
                        *depth -= 1;
                        if *depth == 0 {
                            self.state = State::Plain;
                        }
                    }
                    ('/', '*') if self.dialect == Dialect::PostgreSql => {
                        self.before = ' ';
                        *depth += 1;
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Ok(())
    }

    /// What begins with this character, outside of strings and comments.
    fn begins(&self, before: char, character: char) -> State {
        let (postgresql, mysql) =
            (self.dialect == Dialect::PostgreSql, self.dialect == Dialect::MySql);
        let in_word = before.is_alphanumeric() || before == '_';
        match (before, character) {
            ('-', '-') => State::LineComment,
            (_, '#') if mysql => State::LineComment,
            ('/', '*') => State::BlockComment(1),
            ('E' | 'e', '\'') if postgresql && self.word.len() == 1 => {
                State::Quoted { end: '\'', escapes: true }
            }
            (_, '\'' | '"') => State::Quoted { end: character, escapes: mysql },
            (_, '`') if !postgresql => State::Quoted { end: '`', escapes: false },
            (_, '[') if self.dialect == Dialect::Sqlite => {
                State::Quoted { end: ']', escapes: false }
            }
            (_, '$') if postgresql && !in_word => State::Tag("$".to_owned()),
            _ => State::Plain,
        }
    }

    fn plain(&mut self, before: char, character: char) -> Result<(), &'static str> {
        self.state = self.begins(before, character);
        if self.state != State::Plain {
            self.before = ' ';
        }
        let starts_comment = matches!(character, '-' | '/' | '*' | '#');
        if self.ended && !character.is_whitespace() && !starts_comment && character != ';' {
            return Err(
                "an operation is one statement; put the next one into an operation of its \
                        own",
            );
        }
        match character {
            // To PostgreSQL it is an operator.
            '?' if self.dialect != Dialect::PostgreSql => {
                return Err("a value is written as `${name}`, not as `?`");
            }
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

    pub(super) fn mention(&mut self) -> Result<(), &'static str> {
        self.end_word();
        match self.state {
            State::Plain | State::Tag(_) => {
                (self.state, self.before) = (State::Plain, ' ');
                Ok(())
            }
            State::Quoted { .. } | State::Dollars(..) => {
                Err("a value within quotes is not bound; write `${name}` without quotes")
            }
            State::LineComment | State::BlockComment(_) => Err("a value is mentioned in a comment"),
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    pub(super) fn effect(mut self) -> Option<Effect> {
        const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "REPLACE"];
        self.end_word();
        Some(match self.words.first()?.as_str() {
            "SELECT" | "VALUES" | "EXPLAIN" | "PRAGMA" | "SHOW" | "TABLE" | "SET" => Effect::Reads,
            "WITH" if !self.words.iter().any(|word| CHANGES.contains(&word.as_str())) => {
                Effect::Reads
            }
            "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT"
            | "RELEASE" | "VACUUM" | "ATTACH" | "DETACH" => Effect::Controls,
            _ => Effect::Writes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the statement with `¤` for each mention.
    fn scan(dialect: Dialect, text: &str) -> Result<Effect, &'static str> {
        let mut scanner = Scanner::new(dialect);
        for (index, literal) in text.split('¤').enumerate() {
            if index > 0 {
                scanner.mention()?;
            }
            scanner.read(literal)?;
        }
        scanner.effect().ok_or("no statement")
    }

    #[test]
    fn each_dialect_has_its_own_quotes_and_comments() {
        use Dialect::{MySql, PostgreSql, Sqlite};
        let quoted = Err("a value within quotes is not bound; write `${name}` without quotes");
        let comment = Err("a value is mentioned in a comment");
        let reads = Ok(Effect::Reads);
        for (dialect, text, expected) in [
            (Sqlite, "SELECT [a'b] + ¤", reads),
            (PostgreSql, "SELECT a[¤]", reads),
            (PostgreSql, "SELECT '[' || ¤", reads),
            (PostgreSql, "SELECT a ? 'b', ¤", reads),
            (MySql, "SELECT `a'b`, ¤", reads),
            (MySql, r"SELECT 'it\'s ¤'", quoted),
            (PostgreSql, r"SELECT '\', ¤", reads),
            (PostgreSql, r"SELECT E'\', ¤'", quoted),
            (PostgreSql, r"SELECT E'\\', ¤", reads),
            (PostgreSql, "SELECT $$it's$$, ¤", reads),
            (PostgreSql, "SELECT $t$ $u$ ¤ $t$", quoted),
            (PostgreSql, "SELECT a$b, ¤", reads),
            (PostgreSql, "/* /* */ SELECT ¤ */ SELECT 1", comment),
            (Sqlite, "/* /* */ SELECT ¤", reads),
            (MySql, "SELECT 1 # ¤", comment),
            (PostgreSql, "SELECT 1 # ¤", reads),
            (PostgreSql, "SELECT 1 -- ¤", comment),
            (PostgreSql, "START TRANSACTION", Ok(Effect::Controls)),
            (PostgreSql, "WITH a AS (SELECT 1) UPDATE b SET c = ¤", Ok(Effect::Writes)),
        ] {
            assert_eq!(scan(dialect, text), expected, "{text}");
        }
    }

    #[test]
    fn parameters_written_by_hand_are_refused() {
        assert!(scan(Dialect::PostgreSql, "SELECT $1").unwrap_err().contains("`$1`"));
        assert!(scan(Dialect::MySql, "SELECT ?").unwrap_err().contains("`?`"));
        assert!(scan(Dialect::Sqlite, "SELECT ?").unwrap_err().contains("`?`"));
    }
}
