//! A command as it is sent: what is the same each time is written once.

use wire::redis::write;

use crate::drivers::command::{Argument, Element, elements};
use crate::error::PlanError;
use crate::template::Template;
use crate::values::ValueId;
use crate::workload::{Client, OperationInfo};

/// A script, and the name by which servers know it.
#[derive(Clone, Debug)]
pub struct Script {
    pub text: Vec<u8>,
    /// The SHA-1 of the text in hexadecimal digits, as a server has told it.
    pub name: [u8; 40],
}

/// What a command does with those that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bracket {
    None,
    /// They are gathered from here on.
    Opens,
    /// They are done.
    Closes,
}

/// A compiled command.
#[derive(Clone, Debug)]
pub struct Request {
    parts: Vec<Part>,
    /// Arguments, those of lists left out.
    count: usize,
    lists: Vec<ValueId>,
    /// The first key, or where it would stand.
    key: Option<Argument>,
    pub bracket: Bracket,
}

#[derive(Clone, Debug)]
enum Part {
    /// As it is sent.
    Literal(Vec<u8>),
    /// One argument.
    Argument(Template),
    /// As many arguments as the list has elements.
    Each(Template, ValueId),
    /// The name of a script.
    Script(usize),
}

/// Commands with no reply, with several, or with replies unasked.
const UNANSWERED: [&str; 9] = [
    "SUBSCRIBE",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "UNSUBSCRIBE",
    "PUNSUBSCRIBE",
    "SUNSUBSCRIBE",
    "MONITOR",
    "SYNC",
    "PSYNC",
];
/// Commands about those that follow on the same connection.
const GATHERING: [&str; 3] = ["MULTI", "EXEC", "WATCH"];
/// Commands whose first key is their second argument, or their third; of others it is the first.
const SECOND: [&str; 13] = [
    "BITOP",
    "DEBUG",
    "LMPOP",
    "MEMORY",
    "OBJECT",
    "SINTERCARD",
    "XGROUP",
    "XINFO",
    "ZDIFF",
    "ZINTER",
    "ZINTERCARD",
    "ZMPOP",
    "ZUNION",
];
const THIRD: [&str; 8] =
    ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "BLMPOP", "BZMPOP"];

impl Request {
    /// Compiles an operation; `apart` says why commands that follow one another on a connection do
    /// not belong together, if so. A script it needs is added.
    pub fn compile(
        operation: &OperationInfo,
        arguments: &[Argument],
        apart: Option<&str>,
        scripts: &mut Vec<Script>,
    ) -> Result<Request, PlanError> {
        let constant = |index: usize| arguments.get(index).and_then(|a| a.template.constant());
        let name = String::from_utf8_lossy(constant(0).unwrap_or_default()).to_uppercase();
        let mute =
            name == "CLIENT" && constant(1).is_some_and(|word| word.eq_ignore_ascii_case(b"reply"));
        let field = || format!("{}.request.command[0]", operation.field);
        if mute || UNANSWERED.contains(&name.as_str()) {
            return Err(PlanError::new(field(), &name, "an operation has one reply"));
        }
        if let Some(why) = apart
            && GATHERING.contains(&name.as_str())
        {
            return Err(PlanError::new(field(), &name, why));
        }
        let mut request = Request {
            parts: Vec::new(),
            count: arguments.iter().filter(|argument| argument.list.is_none()).count(),
            lists: arguments.iter().filter_map(|argument| argument.list).collect(),
            key: arguments.get(first_key(&name, arguments)).cloned(),
            bracket: match name.as_str() {
                "MULTI" | "WATCH" => Bracket::Opens,
                "EXEC" | "DISCARD" | "UNWATCH" => Bracket::Closes,
                _ => Bracket::None,
            },
        };
        if request.lists.is_empty() {
            write::array(request.count, request.literal());
        }
        let script = if name == "EVAL" { constant(1) } else { None };
        for (index, argument) in arguments.iter().enumerate() {
            let template = &argument.template;
            match (argument.list, template.constant(), script) {
                (Some(list), ..) => request.parts.push(Part::Each(template.clone(), list)),
                (None, Some(_), Some(_)) if index == 0 => {
                    write::string(b"EVALSHA", request.literal());
                }
                (None, Some(_), Some(text)) if index == 1 => {
                    request.parts.push(Part::Script(known(scripts, text)));
                }
                (None, Some(text), _) => write::string(text, request.literal()),
                (None, None, _) => request.parts.push(Part::Argument(template.clone())),
            }
        }
        Ok(request)
    }

    /// Writes the first key, if there is one.
    #[inline]
    pub fn key(&self, client: &Client, key: &mut Vec<u8>) -> bool {
        key.clear();
        let Some(Argument { template, list }) = &self.key else { return false };
        match list {
            None => template.render(client, key),
            Some(list) => match elements(client, *list).first() {
                Some(&element) => template.render(&Element { client, list: *list, element }, key),
                None => return false,
            },
        }
        true
    }

    /// The literal at its end.
    fn literal(&mut self) -> &mut Vec<u8> {
        if !matches!(self.parts.last(), Some(Part::Literal(_))) {
            self.parts.push(Part::Literal(Vec::new()));
        }
        match self.parts.last_mut() {
            Some(Part::Literal(literal)) => literal,
            _ => unreachable!("a literal was put there"),
        }
    }

    /// Appends the command with the values as they are now.
    #[inline]
    pub fn write(
        &self,
        client: &Client,
        scripts: &[Script],
        rendered: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        if !self.lists.is_empty() {
            let lists = self.lists.iter().map(|&list| elements(client, list).len());
            write::array(self.count + lists.sum::<usize>(), out);
        }
        for part in &self.parts {
            match part {
                Part::Literal(literal) => out.extend_from_slice(literal),
                Part::Argument(template) => {
                    rendered.clear();
                    template.render(client, rendered);
                    write::string(rendered, out);
                }
                Part::Each(template, list) => {
                    for &element in elements(client, *list) {
                        rendered.clear();
                        template.render(&Element { client, list: *list, element }, rendered);
                        write::string(rendered, out);
                    }
                }
                Part::Script(script) => write::string(&scripts[*script].name, out),
            }
        }
    }
}

/// Where a command's first key stands.
fn first_key(name: &str, arguments: &[Argument]) -> usize {
    let is_streams = |argument: &Argument| {
        argument.template.constant().is_some_and(|word| word.eq_ignore_ascii_case(b"streams"))
    };
    match name {
        "XREAD" | "XREADGROUP" => {
            arguments.iter().position(is_streams).map_or(arguments.len(), |at| at + 1)
        }
        _ if SECOND.contains(&name) => 2,
        _ if THIRD.contains(&name) => 3,
        _ => 1,
    }
}

/// The index of a script of this text, which is added if need be.
fn known(scripts: &mut Vec<Script>, text: &[u8]) -> usize {
    let found = scripts.iter().position(|script| script.text == text);
    found.unwrap_or_else(|| {
        scripts.push(Script { text: text.to_vec(), name: [b'0'; 40] });
        scripts.len() - 1
    })
}
