//! The command line of a run; all defaults suit a small machine.

use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use windlass::store::Limits;
use windlass::{Error, Result, duration};

use crate::scenario::Scenario;

/// Minimum payload size: some scenarios write a number into it.
const PAYLOAD_MIN: usize = 8;

/// Longest span in which delayed jobs are due.
const WITHIN_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// What to measure, and with which load.
#[derive(Debug, Args)]
// The programs flatten it into arguments of the same name.
#[group(skip)]
pub struct Arguments {
    /// Scenarios to run; if omitted, measures enqueue, processing and wait time
    #[arg(value_name = "SCENARIO", value_parser = choice())]
    choices: Vec<Choice>,

    #[expect(missing_docs, reason = "clap would print it")]
    #[command(flatten)]
    pub plan: LoadPlan,

    /// Also measure the bare engine and print the ratio; scenarios always do
    #[arg(long)]
    pub(crate) limit: bool,
}

/// The load of a run.
#[derive(Debug, Clone, Args)]
pub struct LoadPlan {
    /// Number of jobs [default: depends on the scenario]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) jobs: Option<u64>,

    /// Payload size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub(crate) payload: usize,

    /// Number of concurrent producers for bulk enqueues
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = up_to(1000))]
    pub(crate) producers: usize,

    /// Jobs per bulk call
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) batch: usize,

    /// Jobs the worker runs at once
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = up_to(100_000))]
    pub(crate) concurrency: usize,

    /// Number of measurements; the median is printed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = up_to(1_000))]
    pub(crate) rounds: usize,

    /// Jobs per second in paced runs [default: half the worker's throughput]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,

    /// Delayed jobs are due, schedules fire, tenants compete for D
    #[arg(long, value_name = "D", default_value = "5s", value_parser = within)]
    pub(crate) within: Duration,

    /// Number of ready and of scheduled jobs during the measurement [default: 1000,100000]
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_values_t = [1_000, 100_000],
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) backlog: Vec<u64>,
}

/// A scenario by its name; `None` is all of them.
#[derive(Debug, Clone, Copy)]
struct Choice(Option<Scenario>);

fn choice() -> impl TypedValueParser<Value = Choice> {
    let names = Scenario::value_variants().iter();
    let names = names.filter_map(Scenario::to_possible_value);
    let all = PossibleValue::new("all").help("All scenarios");
    PossibleValuesParser::new(names.chain([all]))
        .map(|name| Choice(Scenario::from_str(&name, false).ok()))
}

fn up_to(max: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=max)
}

fn within(text: &str) -> Result<Duration, String> {
    let within = duration::parse(text).map_err(|error| error.to_string())?;
    if within.is_zero() || within > WITHIN_MAX {
        return Err("it is out of range; use 1ms to 1d".to_owned());
    }
    Ok(within)
}

impl Arguments {
    /// The chosen scenarios, each once; empty for the quick run.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let mut chosen = Vec::new();
        for choice in &self.choices {
            let named = choice.0.as_ref().map(std::slice::from_ref);
            for scenario in named.unwrap_or(Scenario::value_variants()) {
                if !chosen.contains(scenario) {
                    chosen.push(*scenario);
                }
            }
        }
        chosen
    }
}

impl LoadPlan {
    /// Validates payload and batch, whose limits depend on each other.
    pub fn check(&self) -> Result<()> {
        let limits = Limits::default();
        let bad = |part: &str, why: String, help: String| Err(Error::invalid(part, why, help));
        if !(PAYLOAD_MIN..=limits.payload_bytes_max).contains(&self.payload) {
            return bad(
                "payload",
                format!("{} bytes", self.payload),
                format!("use {PAYLOAD_MIN} to {} bytes", limits.payload_bytes_max),
            );
        }
        let batch_max = limits
            .batch_jobs_max
            .min(limits.batch_bytes_max / self.payload);
        if !(1..=batch_max).contains(&self.batch) {
            return bad(
                "batch",
                format!("{} jobs of {} bytes", self.batch, self.payload),
                format!("use 1 to {batch_max} jobs of that size"),
            );
        }
        Ok(())
    }

    /// The number of jobs, or the default of the scenario.
    pub(crate) fn jobs_or(&self, default: u64) -> u64 {
        self.jobs.unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(line: &str) -> Option<Arguments> {
        let line = Line::try_parse_from(format!("bench {line}").split_whitespace());
        line.ok().map(|line| line.arguments)
    }

    #[test]
    fn an_invalid_plan_is_refused_with_the_allowed_range() {
        let check = |line: &str| parsed(line).unwrap().plan.check();
        check("").unwrap();
        let error = check("--payload 1000000").unwrap_err();
        assert!(error.help().contains("1 to 16 jobs"), "{}", error.help());
        assert!(check("--payload 7").is_err());
        for line in ["--backlog 0", "--rounds 0", "--within 0s", "--within 2d"] {
            assert!(parsed(line).is_none(), "{line}");
        }
    }

    #[test]
    fn every_scenario_runs_once() {
        let names = |line: &str| parsed(line).unwrap().scenarios();
        assert_eq!(names(""), []);
        assert_eq!(names("crash process crash").len(), 2);
        assert_eq!(names("all http").len(), Scenario::value_variants().len());
    }
}
