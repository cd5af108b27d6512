//! `benchlab._core`: the engine and its Measurements, as Python sees them.
//!
//! The only crate that names pyo3. Absent: logic; every function here hands over and translates.

#![allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over by value")]

mod histogram;
mod measurement;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use engine::Control;
use engine::error::EngineError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tally::{SharedBytes, TallyError};

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

/// Checks a Plan, given as JSON, as far as that can be done without running it.
#[pyfunction]
fn check_plan(py: Python<'_>, plan: &str) -> PyResult<()> {
    engine::check(plan).map_err(|error| refused(py, &error))
}

/// Runs the trial of a Plan, given as JSON, in this process; its Measurement as a stream.
#[pyfunction]
#[pyo3(signature = (plan, allow_debug=false))]
fn run_plan<'py>(py: Python<'py>, plan: &str, allow_debug: bool) -> PyResult<Bound<'py, PyBytes>> {
    let written = SharedBytes::default();
    let out = Box::new(written.clone());
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: None, allow_debug };
    let ended = py.detach(|| engine::run(plan, out, control));
    ended.map_err(|error| refused(py, &error))?;
    Ok(PyBytes::new(py, &written.bytes()))
}

/// The engine's error as one of Python's; a `PlanError` has the engine's fields as attributes.
fn refused(py: Python<'_>, error: &EngineError) -> PyErr {
    let message = error.to_string();
    let plan = match error {
        EngineError::Plan(plan) => plan,
        EngineError::Host(_) => return HostError::new_err(message),
        EngineError::Bug(_) => return EngineBug::new_err(message),
    };
    let raised = PlanError::new_err(message);
    let value = raised.value(py);
    let set = value
        .setattr("field", &plan.field)
        .and_then(|()| value.setattr("value", &plan.value))
        .and_then(|()| value.setattr("why", &plan.why))
        .and_then(|()| value.setattr("nearest", &plan.nearest));
    set.err().unwrap_or(raised)
}

/// Version, profile and target of the engine.
#[pyfunction]
fn build() -> BTreeMap<String, String> {
    serde_json::from_str(&engine::build()).expect("the engine's build is texts by name")
}

/// The engine and its Measurements, as Python sees them.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::histogram::Histogram;
    #[pymodule_export]
    use super::measurement::{Measurement, Part, seal};
    #[pymodule_export]
    use super::{EngineBug, HostError, PlanError, build, check_plan, plan_schema, run_plan};
}
