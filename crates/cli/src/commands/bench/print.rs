//! Figures for people.

use windlass_bench::{Figure, Quick, Report};

use crate::output::Output;

/// The run without a scenario.
pub(super) fn quick(quick: &Quick, output: &mut Output) {
    let rate = |ours: f64, limit: Option<f64>, ratio: Option<f64>| {
        let beside = limit.zip(ratio).map(|(limit, ratio)| {
            format!(", {} of the bare engine's {}/s", short(ratio), short(limit))
        });
        Some(format!("{}/s{}", short(ours), beside.unwrap_or_default()))
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
            "waited",
            Some(format!(
                "p50 {} ms, p99 {} ms at half of that pace",
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
    close(true, output);
}

/// One scenario on one place.
pub(super) fn report(report: &Report, output: &mut Output) {
    let aof = report.aof.map_or(String::new(), |aof| {
        format!(", append-only file {}", aof.as_str())
    });
    output.line(&format!(
        "{}: {}; {}{aof}, rounds: {}",
        report.scenario.as_str(),
        report.scenario.about(),
        report.store,
        report.rounds
    ));
    let rows = report.figures().map(|(name, figure)| {
        let name = format!("  {name}");
        match figure {
            Figure::Total(count) => vec![name, count.to_string(), String::new(), String::new()],
            Figure::Spread(spread) => {
                let [median, min, max] = [spread.median, spread.min, spread.max].map(short);
                vec![name, median, min, max]
            }
        }
    });
    output.table(&["  figure", "median", "min", "max"], rows.collect());
}

/// What to make of it.
pub(super) fn close(is_sound: bool, output: &mut Output) {
    output.talk(if is_sound {
        "Trust ratios of one run, then CPU per job; jobs a second change with whatever else the machine does"
    } else {
        "Jobs were lost or started early, which is a fault of Windlass: report it with this output"
    });
}

/// As many digits as a run can tell apart.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}
