//! Prints benchmark results.

use windlass_bench::{Measured, Metric, QuickReport, Report};

use crate::output::Output;

/// Prints one result.
pub(super) fn measured(measured: &Measured, output: &mut Output) {
    match measured {
        Measured::Quick(report) => quick(report, output),
        Measured::Scenario(report) => scenario(report, output),
    }
}

/// Prints a run without scenarios.
fn quick(quick: &QuickReport, output: &mut Output) {
    let rate = |ours: f64, limit: Option<f64>, ratio: Option<f64>| {
        let comparison = limit.zip(ratio).map(|(limit, ratio)| {
            format!(", {} of the bare engine's {}/s", short(ratio), short(limit))
        });
        Some(format!(
            "{}/s{}",
            short(ours),
            comparison.unwrap_or_default()
        ))
    };
    let limit = quick.limit.as_ref();
    let ratio = quick.ratio.as_ref();
    output.fields(vec![
        (
            "enqueue",
            rate(
                quick.enqueue_per_s,
                limit.map(|it| it.enqueue_per_s),
                ratio.map(|it| it.enqueue),
            ),
        ),
        (
            "process",
            rate(
                quick.process_per_s,
                limit.map(|it| it.process_per_s),
                ratio.map(|it| it.process),
            ),
        ),
        (
            "wait time",
            Some(format!(
                "p50 {} ms, p99 {} ms at half that rate",
                short(quick.wait_ms.p50),
                short(quick.wait_ms.p99)
            )),
        ),
        ("bytes per job", quick.bytes_per_job.map(short)),
        ("commands per job", quick.commands_per_job.map(short)),
        (
            "Redis CPU per job",
            quick
                .redis_cpu_us_per_job
                .map(|us| format!("{} µs", short(us))),
        ),
    ]);
}

/// Prints one scenario.
fn scenario(report: &Report, output: &mut Output) {
    let (name, about) = report.scenario.about();
    output.line(&format!(
        "{name}: {about}; {}, rounds: {}",
        report.store, report.rounds
    ));
    let rows = report.metrics().map(|(name, metric)| {
        let name = format!("  {name}");
        match metric {
            Metric::Total(count) => vec![name, count.to_string(), String::new(), String::new()],
            Metric::Spread(spread) => {
                let [median, min, max] = [spread.median, spread.min, spread.max].map(short);
                vec![name, median, min, max]
            }
        }
    });
    output.table(&["  metric", "median", "min", "max"], rows);
}

/// Prints how to interpret the results.
pub(super) fn close(is_correct: bool, output: &mut Output) {
    output.note(if is_correct {
        "Compare ratios within one run, then CPU per job; jobs per second depend on the load of the machine"
    } else {
        "Jobs were lost or started early. This is a bug in Windlass; report it with this output"
    });
}

/// Formats a value with its significant digits.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}
