//! Each law against its exact probabilities, at fixed seeds: chi-square for whole numbers,
//! Kolmogorov–Smirnov for real ones.

use proptest::prelude::*;

use super::*;

const DRAWS: u64 = 200_000;

/// Pearson's statistic over cells with an expectation of at least five, merged from the tail, in
/// standard deviations from its mean (Wilson–Hilferty).
fn chi_square_deviations(counts: &[u64], probabilities: &[f64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0);
    let (mut seen, mut expected) = (0.0, 0.0);
    for (&count, &probability) in counts.iter().zip(probabilities) {
        seen += count as f64;
        expected += probability * total as f64;
        if expected >= 5.0 {
            statistic += (seen - expected).powi(2) / expected;
            cells += 1;
            (seen, expected) = (0.0, 0.0);
        }
    }
    assert!(cells > 1, "too few cells to judge");
    let degrees = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * degrees);
    ((statistic / degrees).cbrt() - (1.0 - spread)) / spread.sqrt()
}

fn histogram(count: usize, mut sample: impl FnMut(&mut Draws) -> u64) -> Vec<u64> {
    let key = Key::new(1, "histogram");
    let mut counts = vec![0; count];
    for n in 0..DRAWS {
        counts[sample(&mut key.draws(0, n)) as usize] += 1;
    }
    counts
}

fn zipf_probabilities(count: usize, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-theta)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn philox_gives_the_published_answers() {
    // The known answers of the Random123 distribution for philox2x64 with 10 rounds.
    let pi = [0x243F_6A88_85A3_08D3, 0x1319_8A2E_0370_7344];
    assert_eq!(philox([0, 0], 0), [0xCA00_A045_9843_D731, 0x66C2_4222_C9A8_45B5]);
    assert_eq!(philox([u64::MAX; 2], u64::MAX), [0x65B0_21D6_0CD8_310F, 0x4D02_F322_2F86_DF20]);
    assert_eq!(philox(pi, 0xA409_3822_299F_31D0), [0x0A5E_742C_2997_341C, 0xB0F8_83D3_8000_DE5D]);
}

#[test]
fn streams_clients_and_ordinals_differ_and_repeat() {
    let mut seen = std::collections::HashSet::new();
    for name in ["a", "b", "arrivals"] {
        for client in 0..10 {
            for n in 0..100 {
                let mut draws = Key::new(7, name).draws(client, n);
                let mut again = Key::new(7, name).draws(client, n);
                for _ in 0..4 {
                    let word = draws.word();
                    assert_eq!(word, again.word());
                    assert!(seen.insert(word), "a word came twice");
                }
            }
        }
    }
}

#[test]
fn whole_numbers_are_equally_likely() {
    for count in [3u64, 10, 1000] {
        let counts = histogram(count as usize, |draws| draws.below(count));
        let even = vec![1.0 / count as f64; count as usize];
        assert!(chi_square_deviations(&counts, &even).abs() < 4.0);
    }
}

#[test]
fn a_bound_near_the_word_size_has_no_modulo_bias() {
    // With 3·2⁶² a modulo would give the lowest third twice its due.
    let bound = 3 << 62;
    let counts = histogram(3, |draws| draws.below(bound) >> 62);
    assert!(chi_square_deviations(&counts, &[1.0 / 3.0; 3]).abs() < 4.0);
}

#[test]
fn zipfian_has_the_exact_law() {
    for theta in [0.0, 0.5, 0.99, 1.0, 1.5, 3.0] {
        let law = Zipfian::new(1000, theta);
        let counts = histogram(1000, |draws| law.sample(draws));
        let deviations = chi_square_deviations(&counts, &zipf_probabilities(1000, theta));
        assert!(deviations.abs() < 4.0, "theta {theta}: {deviations}");
    }
}

#[test]
fn zipfian_over_a_billion_gives_its_head_the_exact_share() {
    let (count, theta) = (1_000_000_000u64, 0.99);
    // The sum of k^−theta by Euler–Maclaurin beyond the first 10,000 terms.
    let head: f64 = (1..=10_000u32).map(|k| f64::from(k).powf(-theta)).sum();
    let tail = ((count as f64).powf(1.0 - theta) - 10_000f64.powf(1.0 - theta)) / (1.0 - theta);
    let total = head + tail;
    let law = Zipfian::new(count, theta);
    let counts = histogram(101, |draws| law.sample(draws).min(100));
    let mut probabilities: Vec<f64> =
        (1..=100u32).map(|k| f64::from(k).powf(-theta) / total).collect();
    probabilities.push(1.0 - probabilities.iter().sum::<f64>());
    assert!(chi_square_deviations(&counts, &probabilities).abs() < 4.0);
}

#[test]
fn hotspot_has_the_exact_law() {
    let law = Hotspot::new(100, 0.2, 0.8);
    let counts = histogram(100, |draws| law.sample(draws));
    let probabilities: Vec<f64> =
        (0..100).map(|k| if k < 20 { 0.8 / 20.0 } else { 0.2 / 80.0 }).collect();
    assert!(chi_square_deviations(&counts, &probabilities).abs() < 4.0);
}

#[test]
fn exponential_puts_its_share_within_its_part() {
    let (share, within): (f64, f64) = (0.95, 0.5);
    let law = Exponential::new(1000, share, within);
    // With `within` one half the equation is quadratic in e^(−γ/2), so γ = −2 ln(1/share − 1).
    let decay = -2.0 * (1.0 / share - 1.0).ln();
    let cumulative = |k: usize| (-decay * k as f64 / 1000.0).exp_m1() / (-decay).exp_m1();
    let probabilities: Vec<f64> = (0..1000).map(|k| cumulative(k + 1) - cumulative(k)).collect();
    let counts = histogram(1000, |draws| law.sample(draws));
    assert!(chi_square_deviations(&counts, &probabilities).abs() < 4.0);
    let inside: u64 = counts[..500].iter().sum();
    assert!((inside as f64 / DRAWS as f64 - share).abs() < 0.002);
}

#[test]
fn weights_are_kept_and_zero_is_never_drawn() {
    let weights = Weights::new(&[1.0, 0.0, 3.0, 0.1 + 0.2, 0.0]);
    let counts = histogram(5, |draws| weights.sample(draws) as u64);
    assert_eq!((counts[1], counts[4]), (0, 0));
    let shares = [1.0 / 4.3, 3.0 / 4.3, 0.3 / 4.3];
    assert!(chi_square_deviations(&[counts[0], counts[2], counts[3]], &shares).abs() < 4.0);
}

#[test]
fn gaps_are_exponential() {
    let key = Key::new(3, "gaps");
    let mut gaps: Vec<f64> = (0..20_000).map(|n| key.draws(0, n).exponential()).collect();
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| {
            let law = 1.0 - (-gap).exp();
            (law - i as f64 / count).abs().max((law - (i + 1) as f64 / count).abs())
        })
        .fold(0.0, f64::max);
    // Kolmogorov's limit at one in a thousand.
    assert!(distance * count.sqrt() < 1.95, "distance {distance}");
}

#[test]
fn the_permutation_scatters_the_frequent() {
    let scatter = Permutation::new(1000, Key::new(5, "scatter"));
    let head: Vec<u64> = (0..10).map(|rank| scatter.apply(rank)).collect();
    let neighbours = head.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 10).count();
    assert!(neighbours <= 1 && head.iter().any(|&x| x > 500) && head.iter().any(|&x| x < 500));
}

proptest! {
    #[test]
    fn the_permutation_is_one_to_one(count in 1u64..3000, seed: u64) {
        let scatter = Permutation::new(count, Key::new(seed, "p"));
        let mut seen = vec![false; count as usize];
        for x in 0..count {
            let y = scatter.apply(x) as usize;
            prop_assert!(!std::mem::replace(&mut seen[y], true));
        }
    }

    #[test]
    fn draws_stay_in_their_range(low: i64, high: i64, seed: u64, theta in 0.0f64..60.0) {
        let (low, high) = (low.min(high), low.max(high));
        let mut draws = Key::new(seed, "range").draws(1, 2);
        let drawn = draws.between(low, high);
        prop_assert!((low..=high).contains(&drawn));
        let count = (high.abs_diff(low) % Zipfian::MAX_COUNT) + 1;
        prop_assert!(Zipfian::new(count, theta).sample(&mut draws) < count);
        prop_assert!(Hotspot::new(count, 0.3, 0.7).sample(&mut draws) < count);
        prop_assert!(Exponential::new(count, 0.95, 0.5).sample(&mut draws) < count);
        prop_assert!(draws.below(count) < count);
    }
}
