//! The run without a scenario.

use serde_json::Value;

use super::sandbox::{Sandbox, has_fields};

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0)
}

#[test]
fn a_bench_on_sqlite_has_every_field_except_those_of_redis() {
    let sandbox = Sandbox::new();

    let report = sandbox
        .run("bench --jobs 300 --rounds 1 --json")
        .ok()
        .json();

    for field in ["enqueue_per_s", "process_per_s"] {
        assert!(is_positive(&report[field]), "{report}");
    }
    has_fields(&report["wait_ms"], "p50 p99");
    for absent in ["bytes_per_job", "commands_per_job", "redis_cpu_us_per_job"] {
        assert_eq!(report.get(absent), Some(&Value::Null), "{report}");
    }
    assert_eq!(report.get("limit").or(report.get("ratio")), None);
    assert!(!sandbox.has_store());
}

#[test]
fn sqlite_has_a_limit_too() {
    let line = "bench --jobs 300 --rounds 1 --limit --json";
    let report = Sandbox::new().run(line).ok().json();
    assert!(is_positive(&report["ratio"]["process"]), "{report}");
}
