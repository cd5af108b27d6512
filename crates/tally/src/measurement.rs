//! Reads Measurements: growing, whole or broken off, one part of a trial or several together.
//!
//! Counters are summed when read. Histograms stay encoded until asked for, so that a Measurement
//! costs memory by its seconds and not by a histogram's range. Absent: estimates and verdicts.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::format::{self, Columns, EVENT, Row};
use crate::frames::{Frames, damaged};
use crate::layout::{Counters, Field, Kind};
use crate::lengths::{Histogram, decode, empty};
use crate::{TallyError, seal};

/// Something that happened once, or an error's count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Its slot.
    pub interval: i64,
    /// `start`, `error` or `end`.
    pub name: String,
    /// JSON.
    pub note: String,
}

/// One agent's share of a Measurement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The Plan as it was given, JSON.
    pub plan: String,
    /// Version, profile and target of the engine, JSON.
    pub build: String,
    /// What is wrong with its tail, if anything.
    pub torn: Option<String>,
    /// Its events, in order of time.
    pub events: Vec<Event>,
}

impl Part {
    /// Whether its agent lived to its end.
    pub fn is_complete(&self) -> bool {
        self.events.iter().any(|event| event.name == "end")
    }
}

#[derive(Clone, Debug, Default)]
struct Figures {
    slots: BTreeMap<i64, Counters>,
    /// Encoded histograms by the slot of their row, in the order of [`Field::ALL`].
    histograms: [Vec<(i64, Vec<u8>)>; 4],
}

/// What a trial left, read.
#[derive(Clone, Debug)]
pub struct Measurement {
    parts: Vec<Part>,
    figures: BTreeMap<(Kind, String), Figures>,
}

impl Measurement {
    /// Reads a stream or an IPC file.
    pub fn open(path: &Path) -> Result<Measurement, TallyError> {
        open_parts(&[path]).map(|(measurement, _)| measurement)
    }

    /// Reads the bytes of a stream or an IPC file up to the last whole batch.
    pub fn read(bytes: &[u8]) -> Result<Measurement, TallyError> {
        let frames = Frames::find(bytes)?;
        let reader = frames.reader()?;
        let (plan, build) = format::provenance(&reader.schema())?;
        let torn = frames.torn.clone();
        let mut part = Part { plan, build, torn, events: Vec::new() };
        let mut figures = BTreeMap::new();
        for batch in reader {
            let batch = batch.map_err(damaged)?;
            for row in Columns::of(&batch)?.rows() {
                take(&row, &mut part, &mut figures)?;
            }
        }
        part.events.sort();
        let parts = vec![part];
        Ok(Measurement { parts, figures })
    }

    /// Both together; the order does not matter.
    #[must_use]
    pub fn merge(mut self, other: Measurement) -> Measurement {
        self.parts.extend(other.parts);
        self.parts.sort();
        for (key, theirs) in other.figures {
            let mine = self.figures.entry(key).or_default();
            for (slot, counters) in theirs.slots {
                mine.slots.entry(slot).or_default().absorb(&counters);
            }
            for (mine, theirs) in mine.histograms.iter_mut().zip(theirs.histograms) {
                mine.extend(theirs);
            }
        }
        self
    }

    /// What it was read from: one for each agent.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The names that were counted.
    pub fn names(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let names = self.figures.keys().filter(move |(k, _)| *k == kind);
        names.map(|(_, name)| name.as_str())
    }

    /// Counters by slot: of one name, or of all of a kind together.
    pub fn slots(&self, kind: Kind, name: Option<&str>) -> BTreeMap<i64, Counters> {
        let mut slots: BTreeMap<i64, Counters> = BTreeMap::new();
        for figures in self.chosen(kind, name) {
            for (slot, counters) in &figures.slots {
                slots.entry(*slot).or_default().absorb(counters);
            }
        }
        slots
    }

    /// Counters of the slots in `range` together.
    pub fn totals(&self, kind: Kind, name: Option<&str>, range: Range<i64>) -> Counters {
        let mut total = Counters::default();
        if range.start < range.end {
            for figures in self.chosen(kind, name) {
                for counters in figures.slots.range(range.clone()).map(|(_, c)| c) {
                    total.absorb(counters);
                }
            }
        }
        total
    }

    /// The histogram of the seconds whose first slot lies in `range`.
    ///
    /// A histogram belongs to a whole second: a range that ends within one includes all of it,
    /// which is right at the end of a trial, where nothing is intended any more.
    pub fn histogram(
        &self,
        kind: Kind,
        name: Option<&str>,
        field: Field,
        range: Range<i64>,
    ) -> Result<Histogram, TallyError> {
        let mut merged = empty();
        for figures in self.chosen(kind, name) {
            for (slot, encoded) in &figures.histograms[field as usize] {
                if range.contains(slot) {
                    let decoded = decode(encoded)?;
                    merged
                        .add(decoded)
                        .map_err(|error| TallyError::Histogram(error.to_string()))?;
                }
            }
        }
        Ok(merged)
    }

    fn chosen(&self, kind: Kind, name: Option<&str>) -> impl Iterator<Item = &Figures> {
        let wanted =
            move |key: &(Kind, String)| key.0 == kind && name.is_none_or(|name| name == key.1);
        let figures = self.figures.iter().filter(move |(key, _)| wanted(key));
        figures.map(|(_, figures)| figures)
    }
}

/// Reads the parts of one trial, and gives beside it the rows of each as an Arrow IPC stream with
/// an end, for readers of Arrow that know no cut ones.
pub fn open_parts(paths: &[impl AsRef<Path>]) -> Result<(Measurement, Vec<Vec<u8>>), TallyError> {
    let mut merged: Option<Measurement> = None;
    let mut rows = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let bytes = seal::read(path)?;
        let read = Measurement::read(&bytes).map_err(|error| error.about(path))?;
        rows.push(Frames::find(&bytes)?.stream());
        merged = Some(match merged {
            None => read,
            Some(others) => others.merge(read),
        });
    }
    let merged = merged.ok_or_else(|| TallyError::Foreign("no file was named".to_owned()))?;
    Ok((merged, rows))
}

/// Adds a row to what was read.
fn take(
    row: &Row,
    part: &mut Part,
    figures: &mut BTreeMap<(Kind, String), Figures>,
) -> Result<(), TallyError> {
    if row.kind == EVENT {
        part.events.push(Event {
            interval: row.interval,
            name: row.name.to_owned(),
            note: row.note.unwrap_or("null").to_owned(),
        });
        return Ok(());
    }
    let kind = Kind::from_name(row.kind)
        .ok_or_else(|| TallyError::Foreign(format!("a row has the kind {:?}", row.kind)))?;
    let mine = figures.entry((kind, row.name.to_owned())).or_default();
    let slot = mine.slots.entry(row.interval).or_default();
    slot.absorb(&row.counters);
    for (mine, theirs) in mine.histograms.iter_mut().zip(row.histograms) {
        mine.extend(theirs.map(|encoded| (row.interval, encoded.to_owned())));
    }
    Ok(())
}
