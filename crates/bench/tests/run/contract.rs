//! The run without a scenario.

use serde_json::Value;

use super::run;

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0)
}

#[test]
fn a_bench_on_a_private_redis_with_the_limit_has_every_field() {
    let lines = run("--private --jobs 2000 --rounds 1 --limit");
    let [report] = lines.as_slice() else {
        panic!("one result: {lines:?}");
    };
    for field in [
        "enqueue_per_s",
        "process_per_s",
        "bytes_per_job",
        "commands_per_job",
    ] {
        assert!(is_positive(&report[field]), "{field} in {report}");
    }
    assert!(report["redis_cpu_us_per_job"].is_number(), "{report}");
    for field in ["enqueue_per_s", "process_per_s"] {
        assert!(is_positive(&report["limit"][field]), "{report}");
    }
    for field in ["enqueue", "process"] {
        assert!(is_positive(&report["ratio"][field]), "{report}");
    }
}
