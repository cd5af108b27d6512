//! Everything that can be asked of bytes that may be a Measurement, for test and fuzz target alike.

use tally::{Field, Kind, Measurement, decode, empty, encode};

/// Asks it all. Nothing may panic; what was read must be told in one way however it is asked.
pub fn any(bytes: &[u8]) {
    if let Ok(histogram) = decode(bytes) {
        let mut sum = empty();
        sum.add(&histogram).expect("all histograms have one range");
        assert_eq!(decode(&encode(&sum)).expect("just encoded"), histogram);
    }
    let Ok(measurement) = Measurement::read(bytes) else { return };
    let [part] = measurement.parts() else { panic!("one part was read") };
    assert!(part.events.is_sorted());
    let all = i64::MIN..i64::MAX;
    for kind in Kind::ALL {
        for name in measurement.names(kind) {
            let mut total = tally::Counters::default();
            for (_, counters) in measurement.slots(kind, Some(name)).range(all.clone()) {
                total.absorb(counters);
            }
            assert_eq!(measurement.totals(kind, Some(name), all.clone()), total);
        }
        for field in Field::ALL {
            // A damaged histogram is an error of its own; the counters beside it stay readable.
            let _ = measurement.histogram(kind, None, field, all.clone());
        }
    }
    let twice = measurement.clone().merge(measurement);
    assert_eq!(twice.parts().len(), 2);
}
