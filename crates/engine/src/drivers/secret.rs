//! Passwords: a Plan says where the agent finds one, and never what it is.

use crate::error::PlanError;
use crate::template::{Piece, pieces, variable};
use crate::workload::Program;

/// The password that the Plan's `field` describes, of which at least part is `${env:NAME}`; none
/// when absent.
pub fn password(text: Option<&str>, program: &Program, field: &str) -> Result<Vec<u8>, PlanError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let hidden = |piece: &Piece<'_>| matches!(piece, Piece::Mention(m) if variable(m).is_some());
    let found = pieces(text, field)?;
    let why = "a password is `${env:NAME}`, an environment variable of the agent's";
    if !found.iter().any(hidden) {
        // The value is not shown, since it may be one.
        return Err(PlanError::new(field, "", why));
    }
    let template = program.template(text, field)?;
    let constant = template.constant().ok_or_else(|| PlanError::new(field, text, why))?;
    Ok(constant.to_vec())
}

#[cfg(test)]
mod tests {
    use tally::Layout;

    use super::*;
    use crate::plan::{Seeds, Workload};

    #[test]
    fn a_password_comes_from_the_environment_alone() {
        let workload: Workload = serde_json::from_str(
            r#"{"values": {"v": {"constant": 1}}, "transactions": [{"name": "t", "operations":
                [{"name": "o", "request": {"sql": "SELECT 1"}}]}]}"#,
        )
        .unwrap();
        let seeds = Seeds { keys: 1, values: 2, arrivals: 3, faults: 4 };
        let program = Program::compile(&workload, &seeds, &mut Layout::new()).unwrap();
        let read = |text| password(text, &program, "driver.password");
        assert_eq!(read(None).unwrap(), b"");
        let package = env!("CARGO_PKG_NAME").as_bytes();
        assert_eq!(read(Some("${env:CARGO_PKG_NAME}")).unwrap(), package);
        for text in ["secret", "${v}", "${env:NOT_SET_ANYWHERE}"] {
            let error = read(Some(text)).unwrap_err().to_string();
            assert!(error.contains("environment variable"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
