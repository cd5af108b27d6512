//! Text with values in it: `"/item/${id}"`, compiled once and rendered into a reused buffer.
//!
//! Absent: what the values are (`values`), and SQL, where a mention is bound and never rendered
//! (`drivers::sql`).

use std::io::Write as _;

use crate::error::PlanError;
use crate::values::{Drawn, Names, ValueId};

/// A stretch of a template as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Taken as it is.
    Literal(&'a str),
    /// `${name}`.
    Mention(&'a str),
}

/// Splits a template into its pieces; `$${` stands for `${` itself.
pub fn pieces<'a>(text: &'a str, field: &str) -> Result<Vec<Piece<'a>>, PlanError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find("${") {
        let escaped = rest[..dollar].ends_with('$');
        // Of an escaped mention the first dollar goes and the rest is text.
        let literal = &rest[..dollar - usize::from(escaped)];
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        if escaped {
            pieces.push(Piece::Literal("${"));
            rest = &rest[dollar + 2..];
            continue;
        }
        let Some(length) = rest[dollar..].find('}') else {
            return Err(PlanError::new(
                field,
                text,
                "`${` is not closed by `}`; write `$${` for it",
            ));
        };
        pieces.push(Piece::Mention(&rest[dollar + 2..dollar + length]));
        rest = &rest[dollar + length + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest));
    }
    Ok(pieces)
}

/// The environment variable that a mention names, if it names one.
pub fn variable(mention: &str) -> Option<&str> {
    mention.strip_prefix("env:")
}

fn environment(variable: &str, field: &str, text: &str) -> Result<Vec<u8>, PlanError> {
    std::env::var(variable).map(String::into_bytes).map_err(|_| {
        let why = format!("the environment variable `{variable}` is not set (or is not UTF-8)");
        PlanError::new(field, text, why)
    })
}

/// Where a template's values are read.
pub trait Values {
    /// What the value is now.
    fn drawn(&self, id: ValueId) -> Drawn<'_>;
}

/// A stretch of a compiled template.
#[derive(Clone, Debug)]
pub enum Part {
    /// Always this.
    Literal(Box<[u8]>),
    /// A value.
    ValueId(ValueId),
}

/// A compiled template.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<Part>,
}

impl Template {
    /// Compiles `text`; an unknown name is an error of the Plan's `field`.
    ///
    /// `${env:NAME}` is the agent's own environment, read here, so that a secret is sent and yet
    /// stands in no Plan.
    pub fn compile(text: &str, names: &Names, field: &str) -> Result<Template, PlanError> {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        for piece in pieces(text, field)? {
            match piece {
                Piece::Literal(plain) => literal.extend_from_slice(plain.as_bytes()),
                Piece::Mention(name) => {
                    if let Some(variable) = variable(name) {
                        literal.extend_from_slice(&environment(variable, field, text)?);
                    } else {
                        let before = std::mem::take(&mut literal);
                        if !before.is_empty() {
                            parts.push(Part::Literal(before.into()));
                        }
                        parts.push(Part::ValueId(names.find(name, field, text)?));
                    }
                }
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Literal(literal.into()));
        }
        Ok(Template { parts })
    }

    /// These bytes, whatever stands in them.
    pub fn plain(bytes: &[u8]) -> Template {
        Template { parts: vec![Part::Literal(bytes.into())] }
    }

    /// Its stretches, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The values it mentions.
    pub fn ids(&self) -> impl Iterator<Item = ValueId> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::ValueId(id) => Some(*id),
        })
    }

    /// The value, when it is one and nothing else.
    pub fn value(&self) -> Option<ValueId> {
        match self.parts.as_slice() {
            [Part::ValueId(id)] => Some(*id),
            _ => None,
        }
    }

    /// The text, when it mentions no value.
    #[inline]
    pub fn constant(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(&[]),
            [Part::Literal(literal)] => Some(literal),
            _ => None,
        }
    }

    /// The greatest length it renders to, given that of each value.
    pub fn longest(&self, value: impl Fn(ValueId) -> usize) -> usize {
        let length = |part: &Part| match part {
            Part::Literal(literal) => literal.len(),
            Part::ValueId(id) => value(*id),
        };
        self.parts.iter().map(length).fold(0, usize::saturating_add)
    }

    /// Appends the text with the values as they are now.
    #[inline]
    pub fn render(&self, values: &impl Values, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Literal(literal) => out.extend_from_slice(literal),
                Part::ValueId(id) => values.drawn(*id).render(out),
            }
        }
    }
}

impl Drawn<'_> {
    /// Appends the value as text; the elements of a list stand with commas between.
    #[inline]
    pub fn render(&self, out: &mut Vec<u8>) {
        match self {
            Drawn::Integer(integer) => integer_text(*integer, out),
            Drawn::Real(real) => write!(out, "{real}").expect("a vector takes all bytes"),
            Drawn::Text(bytes) | Drawn::Bytes(bytes) => out.extend_from_slice(bytes),
            Drawn::List(list) => {
                for (index, element) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    integer_text(*element, out);
                }
            }
        }
    }
}

fn integer_text(integer: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Fixed;

    impl Values for Fixed {
        fn drawn(&self, id: ValueId) -> Drawn<'_> {
            [
                Drawn::Integer(-7),
                Drawn::Real(0.5),
                Drawn::Text(b"text"),
                Drawn::List(&[1, 2, 3]),
                Drawn::List(&[]),
            ][id]
        }
    }

    fn rendered(text: &str) -> Result<String, PlanError> {
        let names = Names::new(["i", "r", "t", "l", "e"].map(str::to_owned));
        let mut out = Vec::new();
        Template::compile(text, &names, "path")?.render(&Fixed, &mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_take_the_place_of_their_mentions() {
        for (text, expected) in [
            ("", ""),
            ("/plain", "/plain"),
            ("${i}", "-7"),
            ("/a/${t}?x=${i}&y=${r}", "/a/text?x=-7&y=0.5"),
            ("[${l}][${e}]", "[1,2,3][]"),
            ("$${i} $5 ${i}$", "${i} $5 -7$"),
        ] {
            assert_eq!(rendered(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn the_environment_is_read_once_and_is_then_plain_text() {
        let names = Names::new([]);
        let package = env!("CARGO_PKG_NAME");
        let template = Template::compile("a ${env:CARGO_PKG_NAME} b", &names, "headers").unwrap();
        assert_eq!(template.constant(), Some(format!("a {package} b").as_bytes()));
        let error = Template::compile("${env:NOT_SET_ANYWHERE}", &names, "headers").unwrap_err();
        assert!(error.why.contains("`NOT_SET_ANYWHERE` is not set"), "{error}");
    }

    #[test]
    fn a_wrong_mention_is_told_with_the_field_and_the_nearest_name() {
        let names = Names::new(["user_id".to_owned()]);
        let error = Template::compile("/${userid}", &names, "path").unwrap_err();
        let line = "path = /${userid}: there is no value called `userid`; did you mean `user_id`?";
        assert_eq!(error.to_string(), line);
        assert!(rendered("/${i").unwrap_err().why.contains("not closed"));
    }

    proptest! {
        #[test]
        fn text_without_mentions_is_itself(text in "[^$]{0,40}") {
            prop_assert_eq!(rendered(&text).unwrap(), text);
        }

        #[test]
        fn any_text_is_split_or_refused(text in "[${}a\u{e9}]{0,20}") {
            let escaped = text.replace("${", "$${");
            let back = rendered(&escaped).unwrap();
            // Escaping each `${` gives the text back, except where a dollar before it is taken
            // for the escape's own.
            if !text.contains("$${") {
                prop_assert_eq!(back, text.clone());
            }
            let _refused_or_not = rendered(&text);
        }
    }
}
