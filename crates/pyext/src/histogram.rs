//! Arithmetic with histograms of lengths.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::raised;

/// Lengths of time in nanoseconds and how often each was seen, to 3 significant digits.
#[pyclass(module = "benchlab._core")]
pub struct Histogram(pub tally::Histogram);

#[pymethods]
impl Histogram {
    /// An empty one.
    #[new]
    fn new() -> Histogram {
        Histogram(tally::empty())
    }

    /// Decodes HDR V2 encoding without compression, with the bounds of Measurements.
    #[staticmethod]
    fn from_v2(encoded: &[u8]) -> PyResult<Histogram> {
        tally::decode(encoded).map(Histogram).map_err(raised)
    }

    /// Encodes it so.
    fn to_v2<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &tally::encode(&self.0))
    }

    /// Counts a length `count` times; shorter than 1 ns and longer than 1 h count as these.
    #[pyo3(signature = (value, count=1))]
    fn record(&mut self, value: u64, count: u64) {
        self.0.saturating_record_n(value.clamp(1, tally::GREATEST_NS), count);
    }

    /// Counts in all that the other one counted.
    fn add(&mut self, other: &Bound<'_, Histogram>) {
        let other = other.try_borrow().map_or_else(|_| self.0.clone(), |other| other.0.clone());
        self.0.add(other).expect("all histograms have one range");
    }

    /// How many were counted.
    #[getter]
    fn count(&self) -> u64 {
        self.0.len()
    }

    /// Their mean; NaN of none.
    #[getter]
    fn mean(&self) -> f64 {
        if self.0.is_empty() { f64::NAN } else { self.0.mean() }
    }

    /// The greatest; zero of none.
    #[getter]
    fn max(&self) -> u64 {
        self.0.max()
    }

    /// The least; zero of none.
    #[getter]
    fn min(&self) -> u64 {
        if self.0.is_empty() { 0 } else { self.0.min() }
    }

    /// The least recorded length that at least the share `q` of all do not exceed; zero of none.
    fn quantile(&self, q: f64) -> u64 {
        self.0.value_at_quantile(q)
    }

    /// The same for several shares.
    fn quantiles(&self, shares: Vec<f64>) -> Vec<u64> {
        shares.into_iter().map(|q| self.quantile(q)).collect()
    }

    /// How many are not longer than `value`, to the histogram's precision.
    fn count_at_or_below(&self, value: u64) -> u64 {
        self.0.count_between(0, value)
    }

    /// Every length that was seen, rising, and how often.
    fn recorded(&self) -> Vec<(u64, u64)> {
        let seen = self.0.iter_recorded();
        seen.map(|step| (step.value_iterated_to(), step.count_at_value())).collect()
    }
}
