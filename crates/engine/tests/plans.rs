//! The contract with the workbench: its golden Plans are read, and the schema is the types'.

use std::fs;
use std::path::PathBuf;

use engine::plan::{self, Plan};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn golden() -> Vec<(PathBuf, String)> {
    let folder = fs::read_dir(root().join("tests/plans")).expect("the golden Plans are there");
    let paths = folder.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn golden_plans_are_read_and_written_without_loss() {
    let golden = golden();
    assert!(golden.len() >= 6, "only {} golden Plans", golden.len());
    for (path, text) in golden {
        let plan = Plan::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let written = serde_json::to_string(&plan).unwrap();
        assert_eq!(Plan::read(&written).unwrap(), plan, "{}", path.display());
        assert!(written.starts_with("{\"version\":1,"));
    }
}

#[test]
fn golden_plans_show_every_generator_and_choice() {
    let all: String = golden().into_iter().map(|(_, text)| text).collect();
    let generators = "constant sequence uniform zipfian latest hotspot exponential text bytes \
                      choice template list batch";
    let choices = "closed open constant_ns exponential_ns duration_ns transactions per_client";
    for word in generators.split_whitespace().chain(choices.split_whitespace()) {
        assert!(all.contains(&format!("\"{word}\"")), "no golden Plan has `{word}`");
    }
}

#[test]
fn the_schema_is_fresh() {
    let path = root().join("docs/plan.schema.json");
    let fresh = plan::schema();
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == fresh, "docs/plan.schema.json is stale: UPDATE_SCHEMA=1 cargo test -p engine");
}
