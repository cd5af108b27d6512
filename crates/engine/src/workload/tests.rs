//! Programs stepped through by hand: what is drawn, what is sent, and in which order.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::values::Cell;

fn seeds() -> Seeds {
    Seeds { keys: 1, values: 2, arrivals: 3, faults: 4 }
}

fn program(values: &Json, transactions: &Json) -> Result<Program, PlanError> {
    let workload = json!({"values": values, "transactions": transactions});
    let workload: plan::Workload = serde_json::from_value(workload).unwrap();
    Program::compile(&workload, &seeds(), &mut Layout::new())
}

/// A program of one transaction whose operations are these statements.
fn statements(values: &Json, operations: &[(&str, Option<&str>)]) -> Program {
    let operations: Vec<Json> = operations
        .iter()
        .map(|(sql, each)| json!({"name": sql, "request": {"sql": sql}, "for_each": each}))
        .collect();
    program(values, &json!([{"name": "t", "operations": operations}])).unwrap()
}

/// What `text` renders to at each operation the client sends in its `n`th transaction.
fn rendered(program: &Program, client: &mut Client, n: u64, texts: &[&str]) -> Vec<String> {
    let templates: Vec<Template> =
        texts.iter().map(|text| program.template(text, "test").unwrap()).collect();
    program.begin(client, n);
    let (mut sent, mut reply) = (Vec::new(), None);
    loop {
        match program.step(client, reply) {
            Step::Send(operation) => {
                let mut out = Vec::new();
                templates[operation.min(templates.len() - 1)].render(client, &mut out);
                sent.push(String::from_utf8(out).unwrap());
                reply = Some(Outcome::Ok);
            }
            Step::End(Outcome::Ok) => return sent,
            other => panic!("{other:?}"),
        }
    }
}

/// One value, drawn for the `n`th transaction of `client` of four.
fn drawn(value: &Json, client: u32, n: u64) -> String {
    let program = statements(&json!({"v": value}), &[("${v}", None)]);
    rendered(&program, &mut program.client(client, 4), n, &["${v}"]).remove(0)
}

#[test]
fn every_generator_gives_what_it_says() {
    let number = |value: &Json, n| drawn(value, 1, n).parse::<i64>().unwrap();
    for n in 0..200 {
        assert_eq!(drawn(&json!({"constant": "x"}), 1, n), "x");
        assert_eq!(drawn(&json!({"constant": 2.5}), 1, n), "2.5");
        for value in [
            json!({"uniform": {"low": -3, "high": 3}}),
            json!({"zipfian": {"low": -3, "high": 3}}),
            json!({"zipfian": {"low": -3, "high": 3, "scramble": true}}),
            json!({"latest": {"low": -3, "high": 3}}),
            json!({"hotspot": {"low": -3, "high": 3, "set": 0.3, "share": 0.9}}),
            json!({"exponential": {"low": -3, "high": 3}}),
        ] {
            assert!((-3..=3).contains(&number(&value, n)), "{value}");
        }
        let text = drawn(&json!({"text": {"length": {"low": 3, "high": 30}}}), 1, n);
        assert!((3..=30).contains(&text.len()) && text.is_ascii());
        let choice = json!({"choice": [{"value": "a", "weight": 1}, {"value": 7, "weight": 1}]});
        assert!(["a", "7"].contains(&drawn(&choice, 1, n).as_str()));
    }
    assert_eq!(number(&json!({"sequence": {"start": 10, "step": 2}}), 3), 10 + 2 * (3 * 4 + 1));
}

#[test]
fn the_newest_and_the_least_are_the_most_frequent() {
    for (value, most) in [
        (json!({"latest": {"low": 1, "high": 100}}), "100"),
        (json!({"zipfian": {"low": 1, "high": 100}}), "1"),
    ] {
        let mut counts: HashMap<String, u32> = HashMap::new();
        for n in 0..2000 {
            *counts.entry(drawn(&value, 0, n)).or_default() += 1;
        }
        let greatest = counts.iter().max_by_key(|(_, count)| **count).unwrap();
        assert_eq!(greatest.0, most);
    }
}

#[test]
fn values_differ_by_client_ordinal_name_and_seed_and_else_repeat() {
    let range = json!({"uniform": {"low": 0, "high": 1_i64 << 60}});
    let both = |n, number, keys| {
        let workload = json!({"values": {"a": range, "b": range}, "transactions": [
            {"name": "t", "operations": [{"name": "o", "request": {"sql": "${a} ${b}"}}]},
        ]});
        let workload: plan::Workload = serde_json::from_value(workload).unwrap();
        let seeds = Seeds { keys, ..seeds() };
        let program = Program::compile(&workload, &seeds, &mut Layout::new()).unwrap();
        let line = rendered(&program, &mut program.client(number, 9), n, &["${a} ${b}"]).remove(0);
        line.split(' ').map(str::to_owned).collect::<Vec<_>>()
    };
    let mut seen = BTreeSet::new();
    for n in 0..5 {
        for number in 0..5 {
            for keys in 0..3 {
                assert_eq!(both(n, number, keys), both(n, number, keys));
                seen.extend(both(n, number, keys));
            }
        }
    }
    assert_eq!(seen.len(), 5 * 5 * 3 * 2);
}

#[test]
fn keyed_text_is_a_function_of_its_key_under_any_name() {
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 5}},
        "name": {"text": {"length": 20, "key": "id"}},
        "also": {"text": {"length": 20, "key": "id"}},
        "other": {"text": {"length": 21, "key": "id"}},
    });
    let program = statements(&values, &[("${id} ${name} ${also} ${other}", None)]);
    let id = program.keyed_value("name", "test").unwrap();
    let mut of_key: HashMap<String, String> = HashMap::new();
    for n in 0..100 {
        let text = "${id} ${name} ${also} ${other}";
        let line = rendered(&program, &mut program.client(n % 3, 3), u64::from(n), &[text]);
        let words: Vec<&str> = line[0].split(' ').collect();
        assert_eq!(words[1], words[2]);
        assert_ne!(words[1], &words[3][..20]);
        let known = of_key.entry(words[0].into()).or_insert_with(|| words[1].into());
        assert_eq!(known, words[1]);
        let mut again = Vec::new();
        program.keyed(id, Drawn::Integer(words[0].parse().unwrap()), &mut again);
        assert_eq!(again, words[1].as_bytes());
    }
    let distinct: BTreeSet<&String> = of_key.values().collect();
    assert_eq!((of_key.len(), distinct.len()), (5, 5));
}

#[test]
fn a_versioned_text_is_told_from_that_of_any_other_key() {
    let values = json!({
        "id": {"uniform": {"low": 1, "high": 3}},
        "name": {"text": {"length": {"low": 22, "high": 60}, "key": "id", "versioned": true}},
    });
    let program = statements(&values, &[("${id} ${name}", None)]);
    let value = program.keyed_value("name", "test").unwrap();
    let (mut versions, mut room) = (BTreeSet::new(), Vec::new());
    for n in 0..60 {
        let line = rendered(&program, &mut program.client(n % 3, 3), n.into(), &["${id} ${name}"]);
        let (id, name) = line[0].split_once(' ').unwrap();
        let id: i64 = id.parse().unwrap();
        let mut holds =
            |key, text: &[u8]| program.holds(value, Drawn::Integer(key), text, &mut room);
        assert!(holds(id, name.as_bytes()));
        assert!(!holds(id + 1, name.as_bytes()));
        assert!(!holds(id, &name.as_bytes()[1..]) && !holds(id, b"") && !holds(id, &[0xff; 30]));
        for place in 0..name.len() {
            let mut torn = name.as_bytes().to_vec();
            torn[place] = if torn[place] == b'A' { b'B' } else { b'A' };
            assert!(!holds(id, &torn), "{name} at {place}");
        }
        versions.insert(name.to_owned());
    }
    assert_eq!(versions.len(), 60);
}

#[test]
fn for_each_asks_once_for_each_element_with_what_follows_it() {
    let values = json!({
        "user": {"uniform": {"low": 1, "high": 9}},
        "buddies": {"list": {"low": 1, "high": 99, "length": 3, "distinct": true}},
        "name": {"text": {"length": 8, "key": "buddies"}},
        "line": {"template": "${user}/${buddies}/${name}"},
    });
    let operations =
        [("${user} ${buddies}", None), ("${line}", Some("buddies")), ("${buddies}", None)];
    let program = statements(&values, &operations);
    let mut client = program.client(0, 1);
    let texts = ["${user}:${buddies}", "${line}", "${buddies}"];
    let sent = rendered(&program, &mut client, 5, &texts);
    assert_eq!(sent.len(), 5);
    let (user, buddies) = sent[0].split_once(':').unwrap();
    for (line, buddy) in sent[1..4].iter().zip(buddies.split(',')) {
        let mut name = Vec::new();
        let id = program.keyed_value("name", "test").unwrap();
        program.keyed(id, Drawn::Integer(buddy.parse().unwrap()), &mut name);
        assert_eq!(*line, format!("{user}/{buddy}/{}", String::from_utf8(name).unwrap()));
    }
    assert_eq!(sent[4], buddies);
}

#[test]
fn first_and_last_are_known_and_an_empty_list_is_skipped() {
    let operations = [("a ${v}", Some("v")), ("b", None), ("c ${v}", Some("v"))];
    for (length, expected) in
        [(2, vec![(0, "first"), (0, ""), (1, ""), (2, ""), (2, "last")]), (0, vec![(1, "both")])]
    {
        let values = json!({"v": {"list": {"low": 1, "high": 9, "length": length}}});
        let program = statements(&values, &operations);
        let mut client = program.client(0, 1);
        program.begin(&mut client, 0);
        let (mut sent, mut reply) = (Vec::new(), None);
        while let Step::Send(operation) = program.step(&mut client, reply) {
            sent.push((
                operation,
                match (program.is_first(&client), program.is_last(&client)) {
                    (true, true) => "both",
                    (true, false) => "first",
                    (false, true) => "last",
                    (false, false) => "",
                },
            ));
            reply = Some(Outcome::Ok);
        }
        assert_eq!(sent, expected);
    }
}

#[test]
fn an_operation_that_fails_ends_its_transaction() {
    let program = statements(&json!({}), &[("a", None), ("b", None)]);
    let mut client = program.client(0, 1);
    for outcome in [Outcome::Failed, Outcome::TimedOut, Outcome::Unknown] {
        program.begin(&mut client, 0);
        assert_eq!(program.step(&mut client, None), Step::Send(0));
        assert_eq!(program.step(&mut client, Some(outcome)), Step::End(outcome));
    }
    program.begin(&mut client, 1);
    assert_eq!(program.step(&mut client, None), Step::Send(0));
    assert_eq!(program.step(&mut client, Some(Outcome::Ok)), Step::Send(1));
    assert_eq!(program.step(&mut client, Some(Outcome::Ok)), Step::End(Outcome::Ok));
}

#[test]
fn transactions_come_by_weight() {
    let one = |name: &str, weight: f64| {
        let operation = json!({"name": name, "request": {"sql": "x"}});
        json!({"name": name, "weight": weight, "operations": [operation]})
    };
    let mix = json!([one("a", 9.0), one("b", 1.0), one("never", 0.0)]);
    let program = program(&json!({}), &mix).unwrap();
    let mut client = program.client(3, 8);
    let mut counts = [0u32; 3];
    for n in 0..10_000 {
        program.begin(&mut client, n);
        counts[client.transaction()] += 1;
    }
    // Four standard deviations of a binomial count are 120.
    assert!(counts[0].abs_diff(9000) < 120 && counts[2] == 0, "{counts:?}");
}

#[test]
fn text_keyed_by_a_list_needs_its_for_each() {
    let values = json!({
        "ids": {"list": {"low": 1, "high": 9, "length": 3}},
        "name": {"text": {"length": 8, "key": "ids"}},
    });
    let operation = json!({"name": "o", "request": {"sql": "${name}"}});
    let error = program(&values, &json!([{"name": "t", "operations": [operation]}]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs `for_each: ids`"), "{error}");
}

#[test]
fn names_are_counted_once_each() {
    let mut layout = Layout::new();
    let operation = |name: &str| json!({"name": name, "request": {"sql": "x"}});
    let workload = json!({"transactions": [
        {"name": "a", "operations": [operation("read"), operation("write")]},
        {"name": "b", "operations": [operation("read")]},
    ]});
    let workload = serde_json::from_value(workload).unwrap();
    let program = Program::compile(&workload, &seeds(), &mut layout).unwrap();
    assert_eq!(layout.len(), 4);
    assert_eq!(program.operations()[0].series, program.operations()[2].series);
    assert_eq!(program.transactions()[1].operations, 2..3);
}

proptest! {
    #[test]
    fn a_sequence_has_no_gaps(total in 1u64..500, clients in 1u32..20, start in -9i64..9) {
        let value = json!({"sequence": {"start": start, "step": 3}});
        let program = statements(&json!({"v": value}), &[("${v}", None)]);
        let mut seen = BTreeSet::new();
        for number in 0..clients {
            let mut client = program.client(number, clients);
            let share = total / u64::from(clients)
                + u64::from(u64::from(number) < total % u64::from(clients));
            for n in 0..share {
                let text = rendered(&program, &mut client, n, &["${v}"]).remove(0);
                prop_assert!(seen.insert(text.parse::<i64>().unwrap()));
            }
        }
        let expected: BTreeSet<i64> = (0..total as i64).map(|k| start + 3 * k).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn batches_cover_their_range_once(
        count in 1i64..500, length in 1i64..40, clients in 1u32..5, start in -9i64..9,
    ) {
        let batch = json!({"start": start, "length": length, "last": start + count - 1});
        let program = statements(&json!({"v": {"batch": batch}}), &[("${v}", Some("v"))]);
        let transactions = (count + length - 1) / length;
        let mut seen = Vec::new();
        for number in 0..clients {
            let mut client = program.client(number, clients);
            // More transactions than needed: those beyond the range have nothing to do.
            for n in 0..=transactions as u64 / u64::from(clients) {
                let sent = rendered(&program, &mut client, n, &["${v}"]);
                seen.extend(sent.iter().map(|text| text.parse::<i64>().unwrap()));
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (start..start + count).collect::<Vec<_>>());
    }

    #[test]
    fn distinct_lists_are_distinct_and_in_range(
        count in 1i64..300, share in 0.0f64..=1.0, n: u64,
    ) {
        let length = (count as f64 * share) as i64;
        let list = json!({"low": -5, "high": count - 6, "length": length, "distinct": true});
        let program = statements(&json!({"v": {"list": list}}), &[("${v}", Some("v"))]);
        let mut client = program.client(0, 1);
        for n in [n, n.wrapping_add(1)] {
            let sent = rendered(&program, &mut client, n, &["${v}"]);
            let seen: BTreeSet<i64> = sent.iter().map(|text| text.parse().unwrap()).collect();
            prop_assert_eq!(seen.len() as i64, length);
            prop_assert!(seen.iter().all(|x| (-5..count - 5).contains(x)));
        }
    }
}

#[test]
fn distinct_pairs_come_in_every_order_equally_often() {
    let list = json!({"low": 0, "high": 3, "length": 2, "distinct": true});
    let program = statements(&json!({"v": {"list": list}}), &[("${v}", None)]);
    let mut client = program.client(0, 1);
    let mut counts: HashMap<String, i32> = HashMap::new();
    for n in 0..12_000 {
        *counts.entry(rendered(&program, &mut client, n, &["${v}"]).remove(0)).or_default() += 1;
    }
    assert_eq!(counts.len(), 12);
    // Five standard deviations of a binomial count are 152.
    assert!(counts.values().all(|count| (count - 1000).abs() < 152), "{counts:?}");
}

#[test]
fn no_value_outgrows_the_room_it_is_given_at_the_start() {
    let values = json!({
        "u": {"uniform": {"low": i64::MIN, "high": i64::MAX}},
        "s": {"sequence": {"start": i64::MIN}},
        "x": {"text": {"length": {"low": 0, "high": 50}}},
        "b": {"bytes": {"length": {"low": 0, "high": 50}}},
        "c": {"choice": [{"value": 1e300, "weight": 1}, {"value": "abc", "weight": 1}]},
        "l": {"list": {"low": i64::MIN, "high": i64::MAX, "length": {"low": 0, "high": 50}}},
        "d": {"list": {"low": 1, "high": 50, "length": {"low": 0, "high": 50}, "distinct": true}},
        "k": {"text": {"length": {"low": 0, "high": 50}, "key": "l"}},
        "t": {"template": "${u}${s}${x}${b}${c}${l}${d}"},
        "tt": {"template": "<${t}|${k}>"},
    });
    let program = statements(&values, &[("${tt}", Some("l"))]);
    let mut client = program.client(0, 1);
    let room = |client: &Client| -> Vec<(usize, usize)> {
        client.values.cells.iter().map(Cell::room).collect()
    };
    let before = room(&client);
    let mut longest = 0;
    for n in 0..500 {
        program.begin(&mut client, n);
        let mut reply = None;
        while let Step::Send(_) = program.step(&mut client, reply) {
            let id = program.id("tt", "test", "").unwrap();
            if let Drawn::Text(text) = client.drawn(id) {
                longest = longest.max(text.len());
            }
            reply = Some(Outcome::Ok);
        }
    }
    assert!(longest > 500, "{longest}");
    assert_eq!(room(&client), before);
}
