//! Values: what is drawn for each transaction, as functions of (seed, name, client, n).
//!
//! Absent: which values a transaction needs and when they are drawn (`workload`), and how they are
//! written into a request (`template`, the drivers).

use base::random::{Draws, Exponential, Hotspot, Key, Permutation, Weights, Zipfian, hash};

use crate::error::PlanError;
use crate::plan::{Length, Scalar, Seeds, Value};
use crate::template::{Template, Values};

/// The index of a named value among the workload's.
pub type ValueId = usize;

/// The exponent of `latest`, that of YCSB.
const LATEST_THETA: f64 = 0.99;

/// What a value is at the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drawn<'a> {
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Text.
    Text(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Whole numbers.
    List(&'a [i64]),
}

/// The names of the values, in order of their ids.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl Names {
    /// One name a value.
    pub fn new(names: impl IntoIterator<Item = String>) -> Names {
        Names(names.into_iter().collect())
    }

    /// The id of `name`, which `text`, the Plan's `field`, mentions.
    pub fn find(&self, name: &str, field: &str, text: &str) -> Result<ValueId, PlanError> {
        self.0.iter().position(|known| known == name).ok_or_else(|| {
            PlanError::new(field, text, format!("there is no value called `{name}`"))
                .nearest_to(name, self.0.iter().map(String::as_str))
        })
    }

    /// The name of a value.
    pub fn name(&self, id: ValueId) -> &str {
        &self.0[id]
    }
}

/// What one value is for one client at the moment; its buffers are reused.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    kind: CellKind,
    integer: i64,
    real: f64,
    bytes: Vec<u8>,
    list: Vec<i64>,
    swaps: Swaps,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Integer,
    Real,
    Text,
    Bytes,
    List,
}

impl Cell {
    pub(crate) fn drawn(&self) -> Drawn<'_> {
        match self.kind {
            CellKind::Integer => Drawn::Integer(self.integer),
            CellKind::Real => Drawn::Real(self.real),
            CellKind::Text => Drawn::Text(&self.bytes),
            CellKind::Bytes => Drawn::Bytes(&self.bytes),
            CellKind::List => Drawn::List(&self.list),
        }
    }

    /// How many bytes and how many elements fit without allocating.
    #[cfg(test)]
    pub(crate) fn room(&self) -> (usize, usize) {
        (self.bytes.capacity(), self.list.capacity())
    }

    fn set(&mut self, scalar: &Scalar) {
        match scalar {
            Scalar::Integer(integer) => {
                (self.kind, self.integer) = (CellKind::Integer, *integer);
            }
            Scalar::Real(real) => (self.kind, self.real) = (CellKind::Real, *real),
            Scalar::Text(text) => {
                self.kind = CellKind::Text;
                self.bytes.clear();
                self.bytes.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// For whom a value is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub client: u32,
    pub clients: u32,
    pub n: u64,
}

#[derive(Clone, Debug)]
enum Law {
    Constant(Scalar),
    Sequence { start: i64, step: i64 },
    Uniform { low: i64, high: i64 },
    Zipfian { low: i64, law: Zipfian, scatter: Option<Permutation> },
    Latest { high: i64, law: Zipfian },
    Hotspot { low: i64, law: Hotspot },
    Exponential { low: i64, law: Exponential },
    Text { size: Size, key: Option<ValueId>, versioned: bool },
    Bytes { size: Size, key: Option<ValueId> },
    Choice { weights: Weights, scalars: Vec<Scalar> },
    Template(Template),
    List { low: i64, high: i64, size: Size, distinct: bool },
    Batch { start: i64, length: i64, last: i64 },
}

/// Lengths from `low` to `high`, both included.
#[derive(Clone, Copy, Debug)]
struct Size {
    low: u32,
    high: u32,
}

impl Size {
    fn new(length: Length) -> Size {
        match length {
            Length::Exactly(size) => Size { low: size, high: size },
            Length::Between(range) => Size { low: range.low as u32, high: range.high as u32 },
        }
    }

    fn draw(self, draws: &mut Draws) -> usize {
        if self.low == self.high {
            return self.low as usize;
        }
        draws.between(i64::from(self.low), i64::from(self.high)) as usize
    }
}

/// A compiled value.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    law: Law,
    stream: Key,
}

impl Generator {
    /// Compiles a value that the Plan's check has found sound.
    pub(crate) fn compile(
        name: &str,
        value: &Value,
        seeds: &Seeds,
        names: &Names,
    ) -> Result<Generator, PlanError> {
        let field = format!("workload.values.{name}");
        let key = |key: &Option<String>| {
            key.as_ref().map(|key| names.find(key, &format!("{field}.key"), key)).transpose()
        };
        let keys = Key::new(seeds.keys, &format!("value {name}"));
        let law = match value {
            Value::Constant(scalar) => Law::Constant(scalar.clone()),
            Value::Sequence { start, step } => Law::Sequence { start: *start, step: *step },
            Value::Uniform(range) => Law::Uniform { low: range.low, high: range.high },
            Value::Zipfian { low, high, theta, scramble } => Law::Zipfian {
                low: *low,
                law: Zipfian::new(count(*low, *high), *theta),
                scatter: scramble.then(|| Permutation::new(count(*low, *high), keys)),
            },
            Value::Latest(range) => Law::Latest {
                high: range.high,
                law: Zipfian::new(count(range.low, range.high), LATEST_THETA),
            },
            Value::Hotspot { low, high, set, share } => {
                Law::Hotspot { low: *low, law: Hotspot::new(count(*low, *high), *set, *share) }
            }
            Value::Exponential { low, high, share, within } => Law::Exponential {
                low: *low,
                law: Exponential::new(count(*low, *high), *share, *within),
            },
            Value::Text { length, key: of, versioned } => {
                Law::Text { size: Size::new(*length), key: key(of)?, versioned: *versioned }
            }
            Value::Bytes { length, key: of } => {
                Law::Bytes { size: Size::new(*length), key: key(of)? }
            }
            Value::Choice(choices) => Law::Choice {
                weights: Weights::new(&choices.iter().map(|c| c.weight).collect::<Vec<_>>()),
                scalars: choices.iter().map(|choice| choice.value.clone()).collect(),
            },
            Value::Template(text) => Law::Template(Template::compile(text, names, &field)?),
            Value::List { low, high, length, distinct } => {
                Law::List { low: *low, high: *high, size: Size::new(*length), distinct: *distinct }
            }
            Value::Batch { start, length, last } => {
                Law::Batch { start: *start, length: i64::from(*length), last: *last }
            }
        };
        let stream = match &law {
            // What is derived from a key is the same under any name, so that the Plan that loads
            // and the Plan that checks need not agree on names.
            Law::Text { size, key: Some(_), .. } => {
                Key::new(seeds.values, &format!("text {}-{}", size.low, size.high))
            }
            Law::Bytes { size, key: Some(_) } => {
                Key::new(seeds.values, &format!("bytes {}-{}", size.low, size.high))
            }
            Law::Text { .. } | Law::Bytes { .. } => {
                Key::new(seeds.values, &format!("value {name}"))
            }
            _ => keys,
        };
        Ok(Generator { law, stream })
    }

    /// The values this one is made from.
    pub(crate) fn needs(&self) -> Vec<ValueId> {
        match &self.law {
            Law::Text { key: Some(key), .. } | Law::Bytes { key: Some(key), .. } => vec![*key],
            Law::Template(template) => template.ids().collect(),
            _ => Vec::new(),
        }
    }

    /// The value it is derived from, if it is text or bytes with a key.
    pub(crate) fn key(&self) -> Option<ValueId> {
        match &self.law {
            Law::Text { key, .. } | Law::Bytes { key, .. } => *key,
            _ => None,
        }
    }

    /// The greatest number of elements, if it is a list.
    pub(crate) fn list_len(&self) -> Option<usize> {
        match &self.law {
            Law::List { size, .. } => Some(size.high as usize),
            Law::Batch { length, .. } => Some(*length as usize),
            _ => None,
        }
    }

    /// The greatest length of its text, given that of the values it needs.
    pub(crate) fn longest(&self, of: &impl Fn(ValueId) -> usize) -> usize {
        /// Digits and sign of the longest 64-bit integer, and of the longest double.
        const INTEGER: usize = 20;
        const REAL: usize = 327;
        let scalar = |scalar: &Scalar| match scalar {
            Scalar::Integer(_) => INTEGER,
            Scalar::Real(_) => REAL,
            Scalar::Text(text) => text.len(),
        };
        match &self.law {
            Law::Constant(constant) => scalar(constant),
            Law::Text { size, .. } | Law::Bytes { size, .. } => size.high as usize,
            Law::Choice { scalars, .. } => scalars.iter().map(scalar).max().unwrap_or(0),
            Law::Template(template) => template.longest(of),
            Law::List { .. } | Law::Batch { .. } => self.list_len().unwrap_or(0) * (INTEGER + 1),
            _ => INTEGER,
        }
    }

    /// A cell with room for every value it may draw; `longest` is the generator's.
    pub(crate) fn cell(&self, longest: usize) -> Cell {
        let (kind, bytes) = match &self.law {
            Law::Text { .. } | Law::Template(_) | Law::Choice { .. } | Law::Constant(_) => {
                (CellKind::Text, longest)
            }
            Law::Bytes { .. } => (CellKind::Bytes, longest),
            Law::List { .. } | Law::Batch { .. } => (CellKind::List, 0),
            _ => (CellKind::Integer, 0),
        };
        let distinct = matches!(self.law, Law::List { distinct: true, .. });
        let list = self.list_len().unwrap_or(0);
        let mut cell = Cell {
            kind,
            integer: 0,
            real: 0.0,
            bytes: Vec::with_capacity(bytes),
            list: Vec::with_capacity(list),
            swaps: Swaps::new(if distinct { list } else { 0 }),
        };
        if let Law::Constant(scalar) = &self.law {
            cell.set(scalar);
        }
        cell
    }

    /// Draws the value of `id` for `turn`; what it needs is drawn already.
    pub(crate) fn draw(&self, id: ValueId, values: &mut Current, turn: Turn) {
        let mut draws = self.stream.draws(turn.client, turn.n);
        let integer = match &self.law {
            Law::Constant(_) => return,
            Law::Sequence { start, step } => {
                start.wrapping_add(step.wrapping_mul(ordinal(turn) as i64))
            }
            Law::Uniform { low, high } => draws.between(*low, *high),
            Law::Zipfian { low, law, scatter } => {
                let rank = law.sample(&mut draws);
                low.wrapping_add(scatter.map_or(rank, |scatter| scatter.apply(rank)) as i64)
            }
            Law::Latest { high, law } => high.wrapping_sub(law.sample(&mut draws) as i64),
            Law::Hotspot { low, law } => low.wrapping_add(law.sample(&mut draws) as i64),
            Law::Exponential { low, law } => low.wrapping_add(law.sample(&mut draws) as i64),
            Law::Choice { weights, scalars } => {
                return values.cells[id].set(&scalars[weights.sample(&mut draws)]);
            }
            Law::Text { key: Some(key), versioned: true, .. } => {
                let key = key_number(values.drawn(*key));
                return self.version(key, ordinal(turn), &mut values.cells[id].bytes);
            }
            Law::Text { key, .. } | Law::Bytes { key, .. } => {
                if let Some(key) = key {
                    draws = self.stream.draws(0, key_number(values.drawn(*key)));
                }
                return self.fill(draws, &mut values.cells[id].bytes);
            }
            Law::Template(template) => {
                // The buffer is taken out while the other values are read.
                let mut text = std::mem::take(&mut values.cells[id].bytes);
                text.clear();
                template.render(values, &mut text);
                values.cells[id].bytes = text;
                return;
            }
            Law::List { low, high, size, distinct } => {
                let cell = &mut values.cells[id];
                let length = size.draw(&mut draws);
                cell.list.clear();
                if *distinct {
                    let Cell { swaps, list, .. } = cell;
                    swaps.sample(count(*low, *high), length, &mut draws, |offset| {
                        list.push(low.wrapping_add(offset as i64));
                    });
                } else {
                    cell.list.extend((0..length).map(|_| draws.between(*low, *high)));
                }
                return;
            }
            Law::Batch { start, length, last } => {
                let list = &mut values.cells[id].list;
                list.clear();
                let first = (ordinal(turn) as i64)
                    .checked_mul(*length)
                    .and_then(|offset| start.checked_add(offset));
                if let Some(first) = first {
                    list.extend(first..=first.saturating_add(length - 1).min(*last));
                }
                return;
            }
        };
        values.cells[id].integer = integer;
    }

    /// What this keyed text or bytes is for `key`.
    pub(crate) fn keyed(&self, key: Drawn<'_>, out: &mut Vec<u8>) {
        self.fill(self.stream.draws(0, key_number(key)), out);
    }

    /// Whether `found` is what this keyed text or bytes may be for `key`; uses up what `room`
    /// holds.
    pub(crate) fn holds(&self, key: Drawn<'_>, found: &[u8], room: &mut Vec<u8>) -> bool {
        if let Law::Text { versioned: true, .. } = &self.law {
            let Some(version) = found.first_chunk().and_then(number) else { return false };
            self.version(key_number(key), version, room);
        } else {
            self.keyed(key, room);
        }
        found == room.as_slice()
    }

    /// What this text is for `key` at a version: both, and then what follows from them.
    fn version(&self, key: u64, version: u64, out: &mut Vec<u8>) {
        let draws = self.stream.draws(hash(&version.to_le_bytes()) as u32, key ^ version);
        self.fill(draws, out);
        let (version, key) = (digits(version), digits(key));
        out[..version.len()].copy_from_slice(&version);
        out[version.len()..2 * version.len()].copy_from_slice(&key);
    }

    /// Characters carry six bits each and need no quoting in a URL, in JSON or in SQL.
    fn fill(&self, mut draws: Draws, out: &mut Vec<u8>) {
        out.clear();
        match &self.law {
            Law::Text { size, .. } => {
                let length = size.draw(&mut draws);
                while out.len() < length {
                    let word = draws.word();
                    let ten: [u8; 10] =
                        std::array::from_fn(|index| ALPHABET[(word >> (6 * index)) as usize & 63]);
                    out.extend_from_slice(&ten[..10.min(length - out.len())]);
                }
            }
            Law::Bytes { size, .. } => {
                let length = size.draw(&mut draws);
                while out.len() < length {
                    let word = draws.word().to_le_bytes();
                    out.extend_from_slice(&word[..8.min(length - out.len())]);
                }
            }
            _ => {}
        }
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How many characters a 64-bit number is written with.
pub(crate) const DIGITS: usize = 11;

/// A number in characters, the least first.
fn digits(number: u64) -> [u8; DIGITS] {
    std::array::from_fn(|index| ALPHABET[(number >> (6 * index)) as usize & 63])
}

/// What each character stands for; 64 is none of them.
const PLACES: [u8; 256] = {
    let mut places = [64; 256];
    let mut index = 0;
    while index < ALPHABET.len() {
        places[ALPHABET[index] as usize] = index as u8;
        index += 1;
    }
    places
};

/// The number of these characters, if they are one.
fn number(digits: &[u8; DIGITS]) -> Option<u64> {
    digits.iter().rev().try_fold(0u64, |number, &character| {
        let place = Some(PLACES[usize::from(character)]).filter(|&place| place < 64)?;
        number.checked_mul(64)?.checked_add(u64::from(place))
    })
}

/// The transaction's place among those of all clients, without gaps when each does its share.
pub(crate) fn ordinal(turn: Turn) -> u64 {
    turn.n.wrapping_mul(u64::from(turn.clients)).wrapping_add(u64::from(turn.client))
}

fn key_number(key: Drawn<'_>) -> u64 {
    match key {
        Drawn::Integer(integer) => integer as u64,
        Drawn::Real(real) => real.to_bits(),
        Drawn::Text(bytes) | Drawn::Bytes(bytes) => hash(bytes),
        Drawn::List(list) => list.iter().fold(0, |sum, &x| hash(&x.to_le_bytes()) ^ sum),
    }
}

/// Whole numbers from `low` to `high`; the check keeps the full 64 bits away from laws that count.
fn count(low: i64, high: i64) -> u64 {
    (high.wrapping_sub(low) as u64).saturating_add(1)
}

/// The current values of one client.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub cells: Vec<Cell>,
    /// The list whose elements are gone through, and the element it stands for.
    pub each: Option<(ValueId, usize)>,
}

impl Current {
    /// The elements of a list value.
    pub(crate) fn list(&self, id: ValueId) -> &[i64] {
        &self.cells[id].list
    }
}

impl Values for Current {
    #[inline]
    fn drawn(&self, id: ValueId) -> Drawn<'_> {
        match self.each {
            Some((each, element)) if each == id => Drawn::Integer(self.cells[id].list[element]),
            _ => self.cells[id].drawn(),
        }
    }
}

/// The displaced elements of a shuffle that is never written out: the first `length` steps of
/// Fisher and Yates's over a range of any size, in memory for `length`.
#[derive(Clone, Debug)]
struct Swaps {
    entries: Vec<Swap>,
    generation: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Swap {
    generation: u64,
    place: u64,
    element: u64,
}

impl Swaps {
    fn new(length: usize) -> Swaps {
        let room = if length == 0 { 0 } else { (2 * length).next_power_of_two() };
        Swaps { entries: vec![Swap::default(); room], generation: 0 }
    }

    fn find(&self, place: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut index = (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        while self.entries[index].generation == self.generation
            && self.entries[index].place != place
        {
            index = (index + 1) & mask;
        }
        index
    }

    fn element(&self, place: u64) -> u64 {
        let entry = self.entries[self.find(place)];
        if entry.generation == self.generation { entry.element } else { place }
    }

    /// Gives `length` distinct numbers below `count`, every order of every choice equally likely.
    fn sample(&mut self, count: u64, length: usize, draws: &mut Draws, mut give: impl FnMut(u64)) {
        self.generation += 1;
        for place in 0..length as u64 {
            let chosen = place + draws.below(count - place);
            give(self.element(chosen));
            let element = self.element(place);
            let index = self.find(chosen);
            self.entries[index] = Swap { generation: self.generation, place: chosen, element };
        }
    }
}
