//! Measurements, read and sealed.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tally::{Counter, Field, Kind};

use crate::histogram::Histogram;
use crate::raised;

/// One agent's share of a Measurement.
#[pyclass(module = "benchlab._core", frozen, get_all)]
pub struct Part {
    /// The Plan as it was given, JSON.
    plan: String,
    /// Version, profile and target of the engine, JSON.
    build: String,
    /// What is wrong with its tail, if anything.
    torn: Option<String>,
    /// Slot, name and note (JSON) of each event, in order of time.
    events: Vec<(i64, String, String)>,
}

/// What a trial left; several agents' parts read as one.
#[pyclass(module = "benchlab._core", frozen)]
pub struct Measurement {
    read: tally::Measurement,
    rows: Vec<Vec<u8>>,
}

#[pymethods]
impl Measurement {
    /// Reads streams or IPC files, whole or cut: the parts of one trial.
    #[staticmethod]
    #[pyo3(signature = (*paths))]
    fn open(paths: Vec<PathBuf>) -> PyResult<Measurement> {
        let (read, rows) = tally::open_parts(&paths).map_err(raised)?;
        Ok(Measurement { read, rows })
    }

    /// What it was read from: one for each agent.
    #[getter]
    fn parts(&self) -> Vec<Part> {
        let events = |part: &tally::Part| {
            let events = part.events.iter();
            events.map(|e| (e.interval, e.name.clone(), e.note.clone())).collect()
        };
        let parts = self.read.parts().iter();
        parts
            .map(|part| Part {
                plan: part.plan.clone(),
                build: part.build.clone(),
                torn: part.torn.clone(),
                events: events(part),
            })
            .collect()
    }

    /// The rows as they were written, an Arrow IPC stream for each part.
    fn rows<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.rows.iter().map(|stream| PyBytes::new(py, stream)).collect()
    }

    /// The names of a kind that were counted.
    fn names(&self, kind: &str) -> PyResult<Vec<String>> {
        Ok(self.read.names(known_kind(kind)?).map(str::to_owned).collect())
    }

    /// Counters of the slots from `from_slot` up to `to_slot`, of one name or all of a kind
    /// together.
    #[pyo3(signature = (kind, name, from_slot, to_slot))]
    fn totals<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        name: Option<&str>,
        from_slot: i64,
        to_slot: i64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counters = self.read.totals(known_kind(kind)?, name, from_slot..to_slot);
        let totals = PyDict::new(py);
        for counter in Counter::ALL {
            totals.set_item(counter.name(), counters[counter])?;
        }
        Ok(totals)
    }

    /// The lengths of the seconds whose first slot lies from `from_slot` up to `to_slot`.
    #[pyo3(signature = (kind, name, field, from_slot, to_slot))]
    fn histogram(
        &self,
        kind: &str,
        name: Option<&str>,
        field: &str,
        from_slot: i64,
        to_slot: i64,
    ) -> PyResult<Histogram> {
        let known = Field::from_name(field);
        let field = known.ok_or_else(|| PyValueError::new_err(format!("no field {field:?}")))?;
        let range = from_slot..to_slot;
        let merged = self.read.histogram(known_kind(kind)?, name, field, range);
        merged.map(Histogram).map_err(raised)
    }
}

fn known_kind(kind: &str) -> PyResult<Kind> {
    Kind::from_name(kind).ok_or_else(|| PyValueError::new_err(format!("no kind {kind:?}")))
}

/// Makes an IPC file of a stream, keeping every whole batch; what was wrong with its tail, if
/// anything.
#[pyfunction]
pub fn seal(stream: PathBuf, file: PathBuf) -> PyResult<Option<String>> {
    tally::seal(&stream, &file).map(|sealed| sealed.torn).map_err(raised)
}
