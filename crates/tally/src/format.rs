//! The Measurement's rows as Arrow record batches, and back.
//!
//! `docs/FORMATS.md` is the reference; both directions stand here so that they cannot drift apart.
//! Absent: files and framing.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef};

use crate::TallyError;
use crate::layout::{Counter, Counters, Field};

const FORMAT: &str = "benchlab-measurement";
const VERSION: &str = "1";

/// The `kind` of rows that are events.
pub(crate) const EVENT: &str = "event";

/// What is to be added to one cell.
#[derive(Default)]
pub(crate) struct Row<'a> {
    pub interval: i64,
    pub kind: &'a str,
    pub name: &'a str,
    pub counters: Counters,
    /// Encoded histograms, in the order of [`Field::ALL`].
    pub histograms: [Option<&'a [u8]>; 4],
    pub note: Option<&'a str>,
}

/// How wide a column's values are.
#[derive(Clone, Copy)]
pub(crate) enum Width {
    /// Eight bytes each.
    Fixed,
    /// Offsets of four bytes each, and bytes.
    Varying,
}

/// The widths of the columns, in their order.
pub(crate) fn widths() -> Vec<Width> {
    let width = |column: &ArrowField| match column.data_type() {
        DataType::Utf8 | DataType::Binary => Width::Varying,
        _ => Width::Fixed,
    };
    columns().iter().map(width).collect()
}

/// Says which column is not as it must be, if one is not.
pub(crate) fn check_columns(schema: &Schema) -> Result<(), String> {
    let expected = columns();
    for (index, column) in expected.iter().enumerate() {
        if schema.fields().get(index).is_none_or(|found| **found != *column) {
            return Err(format!("its column {index} is not `{}`", column.name()));
        }
    }
    if schema.fields().len() > expected.len() {
        return Err("it has columns beyond `note`".to_owned());
    }
    Ok(())
}

fn columns() -> Vec<ArrowField> {
    let mut columns = vec![
        ArrowField::new("interval", DataType::Int64, false),
        ArrowField::new("kind", DataType::Utf8, false),
        ArrowField::new("name", DataType::Utf8, false),
    ];
    let counter = |c: Counter| ArrowField::new(c.name(), DataType::UInt64, false);
    columns.extend(Counter::ALL.map(counter));
    let lengths = |f: Field| ArrowField::new(f.name(), DataType::Binary, true);
    columns.extend(Field::ALL.map(lengths));
    columns.push(ArrowField::new("note", DataType::Utf8, true));
    columns
}

/// The schema with the Plan and the build in its metadata.
pub(crate) fn schema(plan: &str, build: &str) -> SchemaRef {
    let metadata = [("format", FORMAT), ("version", VERSION), ("plan", plan), ("build", build)];
    let metadata: HashMap<String, String> =
        metadata.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Arc::new(Schema::new_with_metadata(columns(), metadata))
}

/// Collects rows into a record batch.
pub(crate) struct Rows {
    interval: Int64Builder,
    kind: StringBuilder,
    name: StringBuilder,
    counters: [UInt64Builder; Counter::ALL.len()],
    histograms: [BinaryBuilder; Field::ALL.len()],
    note: StringBuilder,
    count: usize,
}

impl Rows {
    pub fn new() -> Rows {
        Rows {
            interval: Int64Builder::new(),
            kind: StringBuilder::new(),
            name: StringBuilder::new(),
            counters: Counter::ALL.map(|_| UInt64Builder::new()),
            histograms: Field::ALL.map(|_| BinaryBuilder::new()),
            note: StringBuilder::new(),
            count: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn push(&mut self, row: &Row) {
        self.count += 1;
        self.interval.append_value(row.interval);
        self.kind.append_value(row.kind);
        self.name.append_value(row.name);
        for (column, counter) in self.counters.iter_mut().zip(Counter::ALL) {
            column.append_value(row.counters[counter]);
        }
        for (column, histogram) in self.histograms.iter_mut().zip(row.histograms) {
            column.append_option(histogram);
        }
        self.note.append_option(row.note);
    }

    /// The batch of the rows so far; empties the collection.
    pub fn batch(&mut self, schema: &SchemaRef) -> RecordBatch {
        self.count = 0;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.interval.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.name.finish()),
        ];
        for column in &mut self.counters {
            columns.push(Arc::new(column.finish()));
        }
        for column in &mut self.histograms {
            columns.push(Arc::new(column.finish()));
        }
        columns.push(Arc::new(self.note.finish()));
        RecordBatch::try_new(schema.clone(), columns).expect("columns of the schema's types")
    }
}

/// The Plan and the build of a schema; an error when it is not a Measurement's.
pub(crate) fn provenance(schema: &Schema) -> Result<(String, String), TallyError> {
    let value = |key: &str| schema.metadata().get(key).cloned();
    let format = value("format").unwrap_or_default();
    if format != FORMAT {
        let found = format!("its `format` is {format:?}, not {FORMAT:?}");
        return Err(TallyError::Foreign(found));
    }
    let version = value("version").unwrap_or_default();
    if version != VERSION {
        let found = format!("its version is {version:?}; this build reads {VERSION:?}");
        return Err(TallyError::Foreign(found));
    }
    let needed = |key: &str| {
        value(key).ok_or_else(|| TallyError::Foreign(format!("its metadata has no `{key}`")))
    };
    Ok((needed("plan")?, needed("build")?))
}

/// The columns of a batch, found by name.
pub(crate) struct Columns<'a> {
    interval: &'a Int64Array,
    kind: &'a StringArray,
    name: &'a StringArray,
    counters: Vec<&'a UInt64Array>,
    histograms: Vec<&'a BinaryArray>,
    note: &'a StringArray,
    rows: usize,
}

fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T, TallyError> {
    let found = batch.column_by_name(name);
    let found = found.ok_or_else(|| TallyError::Foreign(format!("it has no column `{name}`")))?;
    found.as_any().downcast_ref::<T>().ok_or_else(|| {
        let kind = found.data_type();
        TallyError::Foreign(format!("its column `{name}` has the type {kind}"))
    })
}

impl<'a> Columns<'a> {
    pub fn of(batch: &'a RecordBatch) -> Result<Columns<'a>, TallyError> {
        Ok(Columns {
            interval: column(batch, "interval")?,
            kind: column(batch, "kind")?,
            name: column(batch, "name")?,
            counters: Counter::ALL
                .iter()
                .map(|counter| column(batch, counter.name()))
                .collect::<Result<_, _>>()?,
            histograms: Field::ALL
                .iter()
                .map(|field| column(batch, field.name()))
                .collect::<Result<_, _>>()?,
            note: column(batch, "note")?,
            rows: batch.num_rows(),
        })
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        (0..self.rows).map(|index| {
            let mut counters = Counters::default();
            for (column, counter) in self.counters.iter().zip(Counter::ALL) {
                counters[counter] = column.value(index);
            }
            let mut histograms = [None; 4];
            for (histogram, column) in histograms.iter_mut().zip(&self.histograms) {
                *histogram = column.is_valid(index).then(|| column.value(index));
            }
            Row {
                interval: self.interval.value(index),
                kind: self.kind.value(index),
                name: self.name.value(index),
                counters,
                histograms,
                note: self.note.is_valid(index).then(|| self.note.value(index)),
            }
        })
    }
}
