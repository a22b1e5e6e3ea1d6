//! The comparison of digests: how it is implemented and, on an idle machine, how long it takes.

use std::hint::black_box;
use std::time::Instant;

use super::*;

/// Fails to compile if `Digest` implements `PartialEq`: two impls would apply.
trait IsNotEq<Marker> {
    const IS_NOT_EQ: bool = true;
}

struct ByEq;

impl<T> IsNotEq<()> for T {}
impl<T: PartialEq> IsNotEq<ByEq> for T {}

#[test]
fn digests_are_of_one_length_and_compared_in_constant_time_only() {
    const { assert!(<Digest as IsNotEq<_>>::IS_NOT_EQ) };
    assert_eq!(size_of::<Digest>(), 32);
    let code = include_str!("../digest.rs");
    let (_, compares) = code.split_once("fn is_same").unwrap();
    let (compares, _) = compares.split_once("}\n").unwrap();
    assert!(compares.contains("self.0.ct_eq(&other.0)"), "{compares}");
    assert!(!compares.contains("=="), "{compares}");
}

#[test]
fn only_the_same_digest_is_the_same() {
    let ours = Digest::of("test");
    assert!(ours.is_same(&Digest::of("test")));
    for at in 0..32 {
        let mut other = ours.clone();
        other.0[at] ^= 1;
        assert!(!ours.is_same(&other), "byte {at}");
    }
    for bad in ["", "9f", &"g".repeat(64), &"é".repeat(32), &"+9".repeat(32)] {
        assert!(Digest::from_hex(bad).is_none(), "{bad}");
    }
}

/// The number of samples per class.
const SAMPLES: usize = 100_000;

/// Comparisons per sample: a single one is too short to measure.
const REPEATS: u32 = 16;

/// Above this t value the difference of the means is significant (the threshold of dudect).
const T_MAX: f64 = 4.5;

/// The sum of the values, the sum of their squares, and their count.
#[derive(Default)]
struct Sums(f64, f64, f64);

impl Sums {
    fn add(&mut self, value: f64) {
        self.0 += value;
        self.1 += value * value;
        self.2 += 1.0;
    }

    fn mean(&self) -> f64 {
        self.0 / self.2
    }

    fn variance_of_mean(&self) -> f64 {
        (self.1 / self.2 - self.mean() * self.mean()) / self.2
    }
}

/// Returns Welch's t of the time `is_same` takes for two guesses, picked at random.
fn t_of(guesses: [&Digest; 2], is_same: impl Fn(&Digest) -> bool) -> f64 {
    let mut samples: Vec<(usize, f64)> = (0..2 * SAMPLES)
        .map(|_| {
            let class = usize::from(fastrand::bool());
            let guess = guesses[class];
            let started = Instant::now();
            for _ in 0..REPEATS {
                black_box(is_same(black_box(guess)));
            }
            (class, started.elapsed().as_secs_f64() * 1e9)
        })
        .collect();
    // The slowest tenth is dropped: those samples were disturbed by other work of the machine.
    let mut sorted: Vec<_> = samples.iter().map(|(_, ns)| *ns).collect();
    sorted.sort_by(f64::total_cmp);
    let max = sorted[sorted.len() * 9 / 10];
    samples.retain(|(_, ns)| *ns <= max);
    let mut sums = [Sums::default(), Sums::default()];
    for (class, ns) in samples {
        sums[class].add(ns);
    }
    let [first, second] = sums;
    (first.mean() - second.mean()) / (first.variance_of_mean() + second.variance_of_mean()).sqrt()
}

/// Returns a digest that differs in every byte, and one that differs only in the last.
fn guesses(ours: &Digest) -> [Digest; 2] {
    let mut far = ours.clone();
    far.0.iter_mut().for_each(|byte| *byte ^= 0xff);
    let mut near = ours.clone();
    near.0[31] ^= 0xff;
    [far, near]
}

#[test]
#[ignore = "measures time: run it alone, on an idle machine, in release mode"]
fn how_long_a_comparison_takes_does_not_depend_on_how_much_of_a_guess_is_right() {
    let ours = Digest::of("test");
    let [far, near] = guesses(&ours);

    let constant = t_of([&far, &near], |guess| ours.is_same(guess));
    // Check of the method itself: it must detect a comparison that stops at the first difference.
    let leaking = t_of([&far, &near], |guess| {
        ours.0.iter().zip(&guess.0).all(|(one, other)| one == other)
    });

    assert!(constant.abs() < T_MAX, "constant: t = {constant}");
    assert!(leaking.abs() > T_MAX, "leaking: t = {leaking}");
}
