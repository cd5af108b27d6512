//! What can go wrong, by who can put it right: the asker, the host's owner, the engine's authors.
//!
//! Each error is one line that a person can act on. Absent: outcomes of requests, which are results
//! and not errors.

use serde_json::json;
use thiserror::Error;

/// You asked wrongly: a field of the Plan cannot be as it is.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}{}: {why}{}", shown(value), proposed(nearest.as_deref()))]
pub struct PlanError {
    /// The path of the field, e.g. `workload.transactions[0].weight`.
    pub field: String,
    /// Its value as JSON; empty where there is none to show.
    pub value: String,
    /// What is wrong with it.
    pub why: String,
    /// The nearest valid choice, where there is one.
    pub nearest: Option<String>,
}

impl PlanError {
    /// An error about `field`, without a nearest choice.
    pub fn new(field: impl Into<String>, value: impl Into<String>, why: impl Into<String>) -> Self {
        PlanError { field: field.into(), value: value.into(), why: why.into(), nearest: None }
    }

    /// The same error, proposing whichever of `choices` is spelt most like `word`.
    #[must_use]
    pub fn nearest_to<'a>(
        mut self,
        word: &str,
        choices: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.nearest = choices
            .into_iter()
            .map(|choice| (strsim::damerau_levenshtein(word, choice), choice))
            .filter(|(distance, choice)| *distance <= choice.chars().count().max(3) / 2)
            .min()
            .map(|(_, choice)| choice.to_owned());
        self
    }
}

fn shown(value: &str) -> String {
    const LONGEST: usize = 60;
    match value.char_indices().nth(LONGEST) {
        _ if value.is_empty() => String::new(),
        None => format!(" = {value}"),
        Some((end, _)) => format!(" = {}…", &value[..end]),
    }
}

fn proposed(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |choice| format!("; did you mean `{choice}`?"))
}

/// The world is not as needed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what}; {remedy}")]
pub struct HostError {
    /// What is not as needed.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl HostError {
    /// What is not as needed, and what to do about it.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        HostError { what: what.into(), remedy: remedy.into() }
    }
}

/// Why the engine gave no Measurement.
#[derive(Clone, Debug, Error)]
pub enum EngineError {
    /// The Plan is wrong.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The world is not as needed.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The engine broke a promise of its own.
    #[error("a fault of the engine: {0}")]
    Bug(String),
}

impl From<std::io::Error> for EngineError {
    fn from(error: std::io::Error) -> Self {
        let remedy = "raise the limits on open files and memory, or use fewer connections";
        HostError::new(format!("the operating system refuses: {error}"), remedy).into()
    }
}

impl EngineError {
    /// The agent's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            EngineError::Plan(_) => 2,
            EngineError::Host(_) => 4,
            EngineError::Bug(_) => 70,
        }
    }

    /// The error as one line of JSON, for the process that started the agent.
    pub fn to_json(&self) -> String {
        let message = self.to_string();
        match self {
            EngineError::Plan(plan) => json!({
                "error": "plan", "field": plan.field, "value": plan.value, "why": plan.why,
                "nearest": plan.nearest, "message": message,
            }),
            EngineError::Host(host) => json!({
                "error": "host", "what": host.what, "remedy": host.remedy, "message": message,
            }),
            EngineError::Bug(_) => json!({"error": "bug", "message": message}),
        }
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_error_is_one_line_with_the_nearest_choice() {
        let error = PlanError::new("schedule", r#"{"cloesd":1}"#, "unknown field `cloesd`")
            .nearest_to("cloesd", ["open", "closed"]);
        let line = r#"schedule = {"cloesd":1}: unknown field `cloesd`; did you mean `closed`?"#;
        assert_eq!(error.to_string(), line);
        assert_eq!(EngineError::from(error).exit_code(), 2);
    }

    #[test]
    fn nothing_is_proposed_where_nothing_is_near() {
        let error = PlanError::new("a", "", "unknown").nearest_to("zebra", ["open", "closed"]);
        assert_eq!(error.nearest, None);
        assert_eq!(error.to_string(), "a: unknown");
    }

    #[test]
    fn errors_are_told_as_json_in_one_line() {
        let error = EngineError::from(HostError::new("no file `x`", "make it"));
        let told: serde_json::Value = serde_json::from_str(&error.to_json()).unwrap();
        assert_eq!(told["error"], "host");
        assert_eq!(told["message"], "no file `x`; make it");
        assert!(!error.to_json().contains('\n'));
    }
}
