//! What entries a search is for, from the text of RFC 4515 to its elements.
//!
//! Values are bound, not pasted: whatever one holds, it stays the value of its assertion. Blanks
//! between filters are passed over, as `OpenLDAP` does.

use super::ber::Elements;
use super::form::{Builder, Piece, is_attribute, only_list};
use super::{Error, MAX_DEPTH, form::Invalid, tag};

const AND: u8 = 0xa0;
pub(super) const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const GREATER: u8 = 0xa5;
const LESS: u8 = 0xa6;
const PRESENT: u8 = 0x87;
const APPROXIMATE: u8 = 0xa8;
const EXTENSIBLE: u8 = 0xa9;

/// The first, any middle and the last of an assertion's substrings.
const SUBSTRING: [u8; 3] = [0x80, 0x81, 0x82];
/// The rule, the attribute, the value and the names' part of an extensible assertion.
const BY_RULE: [u8; 4] = [0x81, 0x82, 0x83, 0x84];

/// What a filter's text is made of.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Token {
    Byte(u8),
    Value(usize),
    List(usize),
}

/// Appends the filter that the pieces make up.
pub(super) fn compile(pieces: &[Piece<'_>], builder: &mut Builder) -> Result<(), Invalid> {
    let mut tokens = Vec::new();
    for piece in pieces {
        match *piece {
            Piece::Text(text) => tokens.extend(text.iter().map(|&byte| Token::Byte(byte))),
            Piece::Value(value) => tokens.push(Token::Value(value)),
            Piece::List(list) => tokens.push(Token::List(list)),
        }
    }
    let mut parser = Parser { tokens: &tokens };
    parser.filter(builder, MAX_DEPTH, false)?;
    parser.blanks();
    if parser.tokens.is_empty() {
        Ok(())
    } else {
        Err(Invalid("there is something behind the filter's last parenthesis"))
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
}

impl Parser<'_> {
    fn next_is(&mut self, byte: u8) -> bool {
        match self.tokens.split_first() {
            Some((first, rest)) if *first == Token::Byte(byte) => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    fn blanks(&mut self) {
        while self.next_is(b' ') || self.next_is(b'\n') || self.next_is(b'\t') {}
    }

    /// A filter in its parentheses; `among` others, one that mentions a list may be several.
    fn filter(&mut self, builder: &mut Builder, depth: usize, among: bool) -> Result<(), Invalid> {
        const UNCLOSED: Invalid = Invalid("a filter's `(` is not closed by `)`");
        let depth = depth.checked_sub(1).ok_or(Invalid("a filter is at most 32 levels deep"))?;
        self.blanks();
        if !self.next_is(b'(') {
            return Err(Invalid("a filter stands in parentheses, as in `(uid=x)`"));
        }
        self.blanks();
        let joined = [(b'&', AND), (b'|', OR)].into_iter().find(|&(sign, _)| self.next_is(sign));
        if let Some((_, kind)) = joined {
            builder.open(kind);
            self.blanks();
            while self.tokens.first() == Some(&Token::Byte(b'(')) {
                self.filter(builder, depth, true)?;
                self.blanks();
            }
            builder.close();
        } else if self.next_is(b'!') {
            builder.open(NOT);
            self.filter(builder, depth, false)?;
            self.blanks();
            builder.close();
        } else {
            let end = self.tokens.iter().position(|token| *token == Token::Byte(b')'));
            let (assertion, rest) = self.tokens.split_at(end.ok_or(UNCLOSED)?);
            self.tokens = rest;
            item(assertion, builder, among)?;
        }
        if self.next_is(b')') { Ok(()) } else { Err(UNCLOSED) }
    }
}

/// One assertion, or one for each element of the list that it mentions.
fn item(tokens: &[Token], builder: &mut Builder, among: bool) -> Result<(), Invalid> {
    let lists = tokens.iter().filter_map(|token| match token {
        Token::List(list) => Some(*list),
        _ => None,
    });
    match only_list(lists)? {
        Some(_) if !among => Err(Invalid(
            "an assertion that mentions a list stands for several, so it needs `(|…)` or `(&…)` \
             around it",
        )),
        Some(list) => builder.each(list, |builder| assertion(tokens, builder)),
        None => assertion(tokens, builder),
    }
}

fn assertion(tokens: &[Token], builder: &mut Builder) -> Result<(), Invalid> {
    let is_equal = |token: &Token| *token == Token::Byte(b'=');
    let equal = tokens.iter().position(is_equal);
    let equal = equal.ok_or(Invalid("an assertion of a filter is `attribute=value`"))?;
    let (left, right) = (&tokens[..equal], &tokens[equal + 1..]);
    let mut name = Vec::new();
    for token in left {
        let Token::Byte(byte) = *token else {
            return Err(Invalid("an attribute of a filter does not vary"));
        };
        name.push(byte);
    }
    let sign = name.last().copied();
    let kind = match sign {
        Some(b'>') => GREATER,
        Some(b'<') => LESS,
        Some(b'~') => APPROXIMATE,
        Some(b':') => EXTENSIBLE,
        _ => EQUAL,
    };
    if kind != EQUAL {
        name.pop();
    }
    if kind == EXTENSIBLE {
        return extensible(&name, right, builder);
    }
    if !is_attribute(&name) {
        return Err(Invalid("a filter's attribute is a name such as `uid`, or its number"));
    }
    let is_star = |token: &Token| *token == Token::Byte(b'*');
    if kind != EQUAL || !right.iter().any(is_star) {
        builder.open(kind);
        builder.element(tag::OCTETS, &name);
        value(tag::OCTETS, right, builder)?;
    } else if right.len() == 1 {
        builder.open(PRESENT);
        builder.bytes(&name);
    } else {
        builder.open(SUBSTRINGS);
        builder.element(tag::OCTETS, &name);
        builder.open(tag::SEQUENCE);
        let parts: Vec<&[Token]> = right.split(is_star).collect();
        for (index, part) in parts.iter().enumerate() {
            let kind = match index {
                0 => SUBSTRING[0],
                last if last == parts.len() - 1 => SUBSTRING[2],
                _ if part.is_empty() => return Err(Invalid("a filter has `**`")),
                _ => SUBSTRING[1],
            };
            if !part.is_empty() {
                value(kind, part, builder)?;
            }
        }
        builder.close();
    }
    builder.close();
    Ok(())
}

/// `attribute:dn:rule:=value`, of which either the attribute or the rule is there.
fn extensible(left: &[u8], right: &[Token], builder: &mut Builder) -> Result<(), Invalid> {
    const SHAPE: Invalid =
        Invalid("an assertion by a rule is `attribute:=value` or `attribute:rule:=value`");
    let mut words = left.split(|&byte| byte == b':');
    let name = words.next().unwrap_or_default();
    let mut rule = words.next();
    let names = rule.is_some_and(|word| word.eq_ignore_ascii_case(b"dn"));
    if names {
        rule = words.next();
    }
    let sound = |word: &[u8]| is_attribute(word);
    if words.next().is_some()
        || (name.is_empty() && rule.is_none())
        || !(name.is_empty() || sound(name))
        || !rule.is_none_or(sound)
    {
        return Err(SHAPE);
    }
    builder.open(EXTENSIBLE);
    if let Some(rule) = rule {
        builder.element(BY_RULE[0], rule);
    }
    if !name.is_empty() {
        builder.element(BY_RULE[1], name);
    }
    value(BY_RULE[2], right, builder)?;
    if names {
        builder.element(BY_RULE[3], &[0xff]);
    }
    builder.close();
    Ok(())
}

/// The value of an assertion: text with `\28` for `(` and the like, and what is bound.
fn value(kind: u8, tokens: &[Token], builder: &mut Builder) -> Result<(), Invalid> {
    builder.open(kind);
    let mut rest = tokens.iter();
    while let Some(token) = rest.next() {
        match *token {
            Token::Byte(b'\\') => {
                let mut digit = || match rest.next() {
                    Some(Token::Byte(byte)) => char::from(*byte).to_digit(16),
                    _ => None,
                };
                let (Some(high), Some(low)) = (digit(), digit()) else {
                    return Err(Invalid("`\\` in a filter stands before two hexadecimal digits"));
                };
                builder.bytes(&[(high << 4 | low) as u8]);
            }
            Token::Byte(b'(' | b'*' | 0) => {
                return Err(Invalid("`(` and `*` in a filter's value are `\\28` and `\\2a`"));
            }
            Token::Byte(byte) => builder.bytes(&[byte]),
            Token::Value(value) | Token::List(value) => builder.value(value),
        }
    }
    builder.close();
    Ok(())
}

/// Whether an element of this kind is a filter.
pub(super) fn check(kind: u8, inside: &[u8]) -> Result<(), Error> {
    below(kind, inside, MAX_DEPTH)
}

fn below(kind: u8, inside: &[u8], depth: usize) -> Result<(), Error> {
    let depth = depth.checked_sub(1).ok_or(Error::Malformed)?;
    let mut elements = Elements(inside);
    match kind {
        AND | OR => {
            while !elements.is_empty() {
                let (kind, inside) = elements.any()?;
                below(kind, inside, depth)?;
            }
        }
        NOT => {
            let (kind, inside) = elements.any()?;
            below(kind, inside, depth)?;
        }
        EQUAL | GREATER | LESS | APPROXIMATE => {
            elements.take(tag::OCTETS)?;
            elements.take(tag::OCTETS)?;
        }
        SUBSTRINGS => {
            elements.take(tag::OCTETS)?;
            let mut parts = Elements(elements.take(tag::SEQUENCE)?);
            while !parts.is_empty() {
                if !SUBSTRING.contains(&parts.any()?.0) {
                    return Err(Error::Malformed);
                }
            }
        }
        EXTENSIBLE => {
            while !elements.is_empty() {
                if !BY_RULE.contains(&elements.any()?.0) {
                    return Err(Error::Malformed);
                }
            }
        }
        PRESENT => return Ok(()),
        _ => return Err(Error::Malformed),
    }
    elements.end()
}
