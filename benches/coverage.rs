//! Simulates how often confidence intervals contain the true correlation.
//!
//! Draws clustered samples with a known correlation, and counts how often Fisher's interval and those of the
//! cluster bootstrap contain the true value. Then checks that p-values of the permutation test are uniform if
//! there is no association. All draws are seeded.
//!
//! `cargo run --release -p wrongturn-benches --bin coverage -- --help`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod common;

use std::process::ExitCode;

use clap::Parser;
use rayon::prelude::*;
use wrongturn::stats::{
    ClusteredPearson, Interval, Resampling, cluster_bootstrap, pearson, permutation_test,
};

/// Simulates how often intervals contain the true correlation, and tests whether p-values are uniform.
#[derive(Parser)]
#[command(after_help = "\
Exit status: 0 if the p-values are uniform, 3 if they are not, 2 for a usage error.

Example: coverage --samples 4000")]
struct Arguments {
    /// Samples drawn for each row of the table and for the permutation test
    #[arg(long, default_value_t = 2000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Resamples of each bootstrap and permutation test
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    resamples: u32,
}

fn main() -> ExitCode {
    common::run(run)
}

/// The true correlation of the normal columns. Half of each variance is between clusters, with a correlation
/// of 0.6; the other half is within them, with a correlation of 0.2.
const NORMAL_R: f64 = 0.4;

fn run(arguments: &Arguments) -> Result<u8, common::Failure> {
    println!("Coverage of nominal 95% intervals, {} samples each, four runs to a cluster", arguments.samples);
    println!("  columns            clusters  independent  percentile     BCa  widened");
    println!("  -----------------  --------  -----------  ----------  ------  -------");
    let runs_r = r_of_many_runs()?;
    for (name, truth, draw) in
        [("normal", NORMAL_R, normal as Draw), ("rate and success", runs_r, rate_and_success as Draw)]
    {
        for clusters in [5, 10, 20, 30, 50, 100] {
            let [fisher, percentile, bca, widened] = coverage(draw, truth, clusters, arguments);
            println!(
                "  {name:<17}  {clusters:>8}  {fisher:>10.1}%  {percentile:>9.1}%  {bca:>5.1}%  {widened:>6.1}%"
            );
        }
    }
    let (distance, limit) = uniformity(arguments)?;
    println!("\nPermutation test without association, {} samples of 15 clusters", arguments.samples);
    println!("  largest distance from uniform (Kolmogorov-Smirnov): {distance:.4}, 1% limit {limit:.4}");
    println!("  {}", if distance < limit { "uniform" } else { "not uniform" });
    Ok(if distance < limit { 0 } else { 3 })
}

type Draw = fn(&mut Random, usize) -> Sample;

#[derive(Default)]
struct Sample {
    x: Vec<f64>,
    y: Vec<f64>,
    cluster: Vec<usize>,
}

fn normal(random: &mut Random, clusters: usize) -> Sample {
    let mut sample = Sample::default();
    for cluster in 0..clusters {
        let (a, b) = random.correlated(0.6);
        for _ in 0..4 {
            let (c, d) = random.correlated(0.2);
            sample.x.push(a + c);
            sample.y.push(b + d);
            sample.cluster.push(cluster);
        }
    }
    sample
}

/// Draws columns like those of tool traces: the recovery rate from one to four errors, and success or
/// failure.
fn rate_and_success(random: &mut Random, clusters: usize) -> Sample {
    let mut sample = Sample::default();
    for cluster in 0..clusters {
        let (ease, knack) = random.correlated(0.5);
        for _ in 0..4 {
            let errors = 1 + random.below(4);
            let chance = 1.0 / (1.0 + (-ease).exp());
            let recovered = (0..errors).filter(|_| random.uniform() < chance).count();
            #[expect(clippy::cast_precision_loss, reason = "at most four")]
            let rate = recovered as f64 / errors as f64;
            let lift = 1.0 / (1.0 + (-knack - rate).exp());
            sample.x.push(rate);
            sample.y.push(f64::from(u8::from(random.uniform() < lift)));
            sample.cluster.push(cluster);
        }
    }
    sample
}

/// Estimates the true correlation of the second kind of columns, from two million runs.
fn r_of_many_runs() -> Result<f64, common::Failure> {
    let sample = rate_and_success(&mut Random::new(1), 500_000);
    Ok(pearson(&sample.x, &sample.y)?.r)
}

fn coverage(draw: Draw, truth: f64, clusters: usize, arguments: &Arguments) -> [f64; 4] {
    let holds = |interval: Option<Interval>| interval.map(|i| i.low <= truth && truth <= i.high);
    let one = |number: u32| -> [Option<bool>; 4] {
        let mut random = Random::new(u64::from(number) << 20 | clusters as u64);
        let sample = draw(&mut random, clusters);
        let options = Resampling {
            resamples: arguments.resamples as usize,
            seed: u64::from(number),
            ..Resampling::default()
        };
        let fisher = pearson(&sample.x, &sample.y).ok().and_then(|r| holds(r.ci95));
        let bootstrap = ClusteredPearson::new(&sample.x, &sample.y, &sample.cluster)
            .and_then(|statistic| cluster_bootstrap(&statistic, &options))
            .ok();
        [
            fisher,
            bootstrap.and_then(|found| holds(found.percentile)),
            bootstrap.and_then(|found| holds(found.bca)),
            bootstrap.and_then(|found| holds(found.widened)),
        ]
    };
    let found: Vec<[Option<bool>; 4]> = (0..arguments.samples).into_par_iter().map(one).collect();
    [0, 1, 2, 3].map(|which| {
        let answers: Vec<bool> = found.iter().filter_map(|one| *one.get(which)?).collect();
        #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
        let share = answers.iter().filter(|holds| **holds).count() as f64 / answers.len().max(1) as f64;
        100.0 * share
    })
}

/// Returns the Kolmogorov-Smirnov distance of the p-values from uniform, and the distance exceeded in 1% of
/// cases.
fn uniformity(arguments: &Arguments) -> Result<(f64, f64), common::Failure> {
    let one = |number: u32| {
        let mut random = Random::new(u64::from(number) << 20 | 7);
        let sample = normal(&mut random, 15);
        // y is independent of x.
        let y: Vec<f64> = sample.x.iter().map(|_| random.normal()).collect();
        let options = Resampling {
            resamples: arguments.resamples as usize,
            seed: u64::from(number),
            ..Resampling::default()
        };
        permutation_test(&sample.x, &y, &sample.cluster, &options)
    };
    let tests = (0..arguments.samples).into_par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let mut p: Vec<f64> = tests.into_iter().flatten().map(|test| test.p).collect();
    p.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a count of samples")]
    let n = p.len() as f64;
    let distance = p
        .iter()
        .zip(1_u32..)
        .map(|(p, place)| (f64::from(place) / n - p).max(p - (f64::from(place) - 1.0) / n))
        .fold(0.0, f64::max);
    // p-values are multiples of 1/(resamples + 1), which adds at most this step to the distance.
    Ok((distance, 1.628 / n.sqrt() + 1.0 / f64::from(arguments.resamples)))
}

/// A seeded generator: `SplitMix64`, with normal deviates by the method of Box and Muller.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns a number in (0, 1).
    fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "52 bits")]
        let bits = (self.next() >> 12) as f64;
        (bits + 0.5) / 2_f64.powi(52)
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn correlated(&mut self, r: f64) -> (f64, f64) {
        let (first, second) = (self.normal(), self.normal());
        (first, r * first + (1.0 - r * r).sqrt() * second)
    }
}
