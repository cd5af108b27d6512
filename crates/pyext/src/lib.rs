//! `benchlab._core`: the engine and its Measurements, as Python sees them.
//!
//! The only crate that names pyo3. Absent: logic; every function here hands over and translates.

#![allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over by value")]

mod histogram;
mod measurement;

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tally::TallyError;

create_exception!(_core, PlanError, PyException, "You asked wrongly; the message names the field.");
create_exception!(_core, HostError, PyException, "The world is not as needed; it says what to do.");
create_exception!(_core, EngineBug, PyException, "The engine broke a promise of its own.");

/// Translates what tally complains of: `OSError` or `ValueError`.
fn raised(error: TallyError) -> PyErr {
    match &error {
        TallyError::Io { source, .. } => {
            let number = source.raw_os_error();
            PyOSError::new_err((number, error.to_string()))
        }
        TallyError::Foreign(_) | TallyError::Histogram(_) => {
            PyValueError::new_err(error.to_string())
        }
    }
}

/// The JSON Schema of Plans.
#[pyfunction]
fn plan_schema() -> String {
    engine::plan::schema()
}

/// Checks all that can be told from a Plan, given as JSON, alone.
#[pyfunction]
fn check_plan(py: Python<'_>, plan: &str) -> PyResult<()> {
    engine::plan::Plan::read(plan).map(drop).map_err(|error| refused(py, &error))
}

/// A `PlanError` with the engine's fields as attributes.
fn refused(py: Python<'_>, error: &engine::error::PlanError) -> PyErr {
    let raised = PlanError::new_err(error.to_string());
    let value = raised.value(py);
    let set = value
        .setattr("field", &error.field)
        .and_then(|()| value.setattr("value", &error.value))
        .and_then(|()| value.setattr("why", &error.why))
        .and_then(|()| value.setattr("nearest", &error.nearest));
    set.err().unwrap_or(raised)
}

/// Version, profile and target of the engine.
#[pyfunction]
fn build(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let (arch, os) = (std::env::consts::ARCH, std::env::consts::OS);
    let build = PyDict::new(py);
    build.set_item("version", env!("CARGO_PKG_VERSION"))?;
    build.set_item("profile", profile)?;
    build.set_item("target", format!("{arch}-{os}"))?;
    Ok(build)
}

/// The engine and its Measurements, as Python sees them.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::measurement::{Measurement, Part, seal};
    #[pymodule_export]
    use super::{EngineBug, HostError, PlanError, build, check_plan, plan_schema};
}
