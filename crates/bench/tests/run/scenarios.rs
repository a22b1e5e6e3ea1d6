//! Every scenario, small, on a file and on a private Redis.

use serde_json::Value;

use super::has_fields;

/// A scenario, its size flags, and the results it has on every store.
const SCENARIOS: [(&str, &str, &str); 11] = [
    (
        "enqueue-one",
        "--jobs 300",
        "per_s limit ratio client_cpu_us_per_job",
    ),
    (
        "enqueue-bulk",
        "--jobs 1000",
        "per_s limit ratio client_cpu_us_per_job",
    ),
    (
        "process",
        "--jobs 1000",
        "per_s limit ratio client_cpu_us_per_job",
    ),
    ("end-to-end", "--jobs 300 --rate 300", "rate_per_s wait_ms"),
    ("latency", "--jobs 30", "pickup_ms"),
    (
        "delayed",
        "--jobs 300 --within 200ms",
        "jobs early late_start lateness_ms",
    ),
    ("schedules", "--jobs 3 --within 1s", "jobs lateness_ms"),
    (
        "fairness",
        "--jobs 300 --within 100ms",
        "alone_ms limited_ms unlimited_ms ratio slots",
    ),
    ("backlog", "--backlog 200,1000", "at ratio"),
    (
        "crash",
        "--jobs 400",
        "accepted ended lost repeats kills per_s",
    ),
    ("http", "--jobs 300", "one_a_call batch_a_call import"),
];

/// Results that only a single Redis server has.
const ON_REDIS: [(&str, &str); 5] = [
    (
        "enqueue-bulk",
        "ratio_pipelined bytes_per_job calls_per_job",
    ),
    (
        "process",
        "ratio_pipelined redis_cpu_us_per_job calls_per_job commands_per_job",
    ),
    ("enqueue-one", "redis_cpu_us_per_job commands_per_job"),
    ("latency", "blpop_ms ping_ms ratio"),
    ("delayed", "slow_calls slow_call_share longest_call_ms"),
];

fn run(scenario: &str, size: &str, store: &str) -> Value {
    let line = format!("{scenario} {size} {store} --rounds 1");
    let lines = super::run(&line);
    assert_eq!(lines.len(), 1, "{line}: {lines:?}");
    assert_eq!(lines[0]["scenario"], scenario);
    assert_eq!(lines[0]["rounds"], 1);
    lines[0].clone()
}

fn assert_plausible(scenario: &str, report: &Value) {
    let results = &report["metrics"];
    match scenario {
        "delayed" => {
            assert_eq!(results["early"], 0, "{report}");
            assert_eq!(results["jobs"], 300, "{report}");
        }
        "crash" => {
            assert_eq!(results["lost"], 0, "{report}");
            assert_eq!(
                (&results["accepted"], &results["ended"]),
                (&400.into(), &400.into())
            );
            assert_eq!(results["kills"], 10, "{report}");
        }
        "schedules" => assert_eq!(results["jobs"], 3, "{report}"),
        "fairness" => {
            has_fields(&results["ratio"]["limited"], "p50 p99");
            has_fields(&results["slots"], "long short");
        }
        "backlog" => {
            has_fields(
                &results["at"]["200"],
                "enqueue_us claim_us complete_us delayed_us",
            );
            has_fields(&results["ratio"]["1000"], "enqueue claim complete delayed");
        }
        _ => {}
    }
    let rate = results.get("per_s").unwrap_or(&Value::Null);
    if !rate.is_null() {
        has_fields(rate, "median min max");
    }
}

#[test]
fn every_scenario_has_plausible_results_on_sqlite() {
    for (scenario, size, fields) in SCENARIOS {
        let report = run(scenario, size, "");
        assert_eq!(
            (&report["store"], &report["aof"]),
            (&"sqlite".into(), &Value::Null)
        );
        has_fields(&report["metrics"], fields);
        assert_plausible(scenario, &report);
    }
}

#[test]
fn every_scenario_has_plausible_results_on_a_private_redis() {
    for (scenario, size, fields) in SCENARIOS {
        let report = run(scenario, size, "--private");
        assert_eq!(
            (&report["store"], &report["aof"]),
            (&"redis".into(), &"off".into())
        );
        has_fields(&report["metrics"], fields);
        for (_, fields) in ON_REDIS.iter().filter(|(it, _)| *it == scenario) {
            has_fields(&report["metrics"], fields);
        }
        assert_plausible(scenario, &report);
    }
}

#[test]
fn modes_of_the_append_only_file_are_compared_with_off() {
    let line = "enqueue-bulk --jobs 500 --rounds 2 --private --aof off,everysec,always";
    let reports = super::run(line);

    let modes: Vec<&Value> = reports.iter().map(|report| &report["aof"]).collect();
    assert_eq!(modes, ["off", "everysec", "always"]);
    for report in &reports {
        let over_off = &report["metrics"]["over_off"];
        assert_eq!(over_off.is_null(), report["aof"] == "off", "{report}");
    }
}
