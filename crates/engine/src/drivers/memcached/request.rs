//! A command as it is sent: a line, and behind it what it stores.

use wire::memcached::{Error, write};

use crate::drivers::command::{Argument, Element, elements};
use crate::error::PlanError;
use crate::template::Template;
use crate::values::ValueId;
use crate::workload::{Client, OperationInfo};

/// A compiled command.
#[derive(Clone, Debug)]
pub struct Request {
    words: Vec<Word>,
    /// What it stores.
    pub value: Option<Template>,
}

#[derive(Clone, Debug)]
enum Word {
    /// One that is no key.
    Plain(Template),
    Key(Template),
    /// A key for each element of the list.
    Keys(Template, ValueId),
    /// The length of the value.
    Length,
}

/// How a command is written.
struct Form {
    name: &'static str,
    /// Which of its words is the key, or the first one; 0 where it has none.
    key: usize,
    /// Whether other keys may follow.
    several: bool,
    /// Which of its words is the length of what it stores; 0 where it stores nothing.
    length: usize,
}

const fn form(name: &'static str, key: usize, several: bool, length: usize) -> Form {
    Form { name, key, several, length }
}

/// The commands that have one answer.
const FORMS: [Form; 23] = [
    form("get", 1, true, 0),
    form("gets", 1, true, 0),
    form("gat", 2, true, 0),
    form("gats", 2, true, 0),
    form("set", 1, false, 4),
    form("add", 1, false, 4),
    form("replace", 1, false, 4),
    form("append", 1, false, 4),
    form("prepend", 1, false, 4),
    form("cas", 1, false, 4),
    form("incr", 1, false, 0),
    form("decr", 1, false, 0),
    form("delete", 1, false, 0),
    form("touch", 1, false, 0),
    form("version", 0, false, 0),
    form("stats", 0, false, 0),
    form("flush_all", 0, false, 0),
    form("mg", 1, false, 0),
    form("ms", 1, false, 2),
    form("md", 1, false, 0),
    form("ma", 1, false, 0),
    form("me", 1, false, 0),
    form("mn", 0, false, 0),
];

impl Request {
    /// Compiles an operation of these arguments.
    pub fn compile(
        operation: &OperationInfo,
        mut arguments: Vec<Argument>,
    ) -> Result<Request, PlanError> {
        let text = |argument: &Argument| {
            let text = argument.template.constant().unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        };
        let texts: Vec<String> = arguments.iter().map(text).collect();
        let wrong = |index: usize, why: &str| {
            let field = format!("{}.request.command[{index}]", operation.field);
            PlanError::new(field, &texts[index], why)
        };
        let last = texts.len() - 1;
        let Some(form) = FORMS.iter().find(|form| form.name == texts[0]) else {
            let why = "the driver `memcached` knows no such command";
            return Err(wrong(0, why).nearest_to(&texts[0], FORMS.iter().map(|form| form.name)));
        };
        if last < form.key.max(form.length) {
            let why = if form.length > 0 {
                "its last argument is what a command stores"
            } else {
                "a key is needed"
            };
            return Err(wrong(last, why));
        }
        let value = if form.length > 0 { arguments.pop() } else { None };
        let mut words = Vec::with_capacity(texts.len());
        for (index, Argument { template, list }) in arguments.into_iter().enumerate() {
            let is_key =
                form.key > 0 && if form.several { index >= form.key } else { index == form.key };
            if list.is_some() && !(is_key && form.several) {
                return Err(wrong(index, "a list stands for the several keys of `get` alone"));
            }
            let text = texts[index].as_bytes();
            if !is_key && matches!((form.name.len(), text), (2, b"q") | (_, b"noreply")) {
                return Err(wrong(index, "an operation has one answer"));
            }
            if template.constant().is_some() {
                write::check(text).map_err(|error| wrong(index, &error.to_string()))?;
            }
            if form.length > 0 && form.length == index {
                words.push(Word::Length);
            }
            words.push(match list {
                Some(list) => Word::Keys(template, list),
                None if is_key => Word::Key(template),
                None => Word::Plain(template),
            });
        }
        if form.length > 0 && form.length == last {
            words.push(Word::Length);
        }
        Ok(Request { words, value: value.map(|argument| argument.template) })
    }

    /// Gives each of its keys, written to `room`.
    pub fn keys(&self, client: &Client, room: &mut Vec<u8>, mut give: impl FnMut(&[u8])) {
        for word in &self.words {
            match word {
                Word::Plain(_) | Word::Length => {}
                Word::Key(template) => {
                    room.clear();
                    template.render(client, room);
                    give(room);
                }
                Word::Keys(template, list) => {
                    for &element in elements(client, *list) {
                        room.clear();
                        template.render(&Element { client, list: *list, element }, room);
                        give(room);
                    }
                }
            }
        }
    }

    /// Appends the command with the values as they are now, of its keys those that are `wanted` by
    /// their place; `stored` is room for what it stores.
    #[inline]
    pub fn write(
        &self,
        client: &Client,
        wanted: impl Fn(usize) -> bool,
        stored: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(value) = &self.value {
            stored.clear();
            value.render(client, stored);
        }
        let begun = out.len();
        let mut place = 0;
        for word in &self.words {
            match word {
                Word::Length => write::number(stored.len() as u64, out),
                Word::Plain(template) => {
                    write::word(begun, out, |out| template.render(client, out))?;
                }
                Word::Key(template) => {
                    if wanted(place) {
                        write::word(begun, out, |out| template.render(client, out))?;
                    }
                    place += 1;
                }
                Word::Keys(template, list) => {
                    for &element in elements(client, *list) {
                        if wanted(place) {
                            let values = Element { client, list: *list, element };
                            write::word(begun, out, |out| template.render(&values, out))?;
                        }
                        place += 1;
                    }
                }
            }
        }
        write::end(out);
        if self.value.is_some() {
            write::block(stored, out);
        }
        Ok(())
    }
}
