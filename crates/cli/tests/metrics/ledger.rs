//! The metrics of a worker agree with the store.

use std::fmt::Write;

use crate::sandbox::Sandbox;
use crate::scrape::{Samples, ScrapedWorker, wait_for};
use crate::server::TestServer;

const JOBS: u64 = 10_000;

/// Fails the first attempt of every 20th job; every 100th is then dead, the others are retried.
const WORKER: &str = r#"
import json, sys
for line in sys.stdin:
    job = json.loads(line)
    if job["type"] != "job":
        continue
    reply = {"type": "done", "id": job["id"], "token": job["token"]}
    number = int(job["payload"])
    if number % 20 == 0 and job["attempt"] == 1:
        how = {"after_ms": 1} if number % 100 else {"retry": False}
        reply.update({"type": "fail", "error": "no ink"}, **how)
    print(json.dumps(reply), flush=True)
"#;

#[test]
fn a_scrape_after_ten_thousand_jobs_agrees_with_the_store() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("worker.py"), WORKER).unwrap();
    let mut lines = String::new();
    for number in 0..JOBS {
        let kind = ["letter", "parcel"][usize::from(number % 2 == 1)];
        writeln!(lines, r#"{{"payload":"{number}","kind":"{kind}"}}"#).unwrap();
    }
    std::fs::write(sandbox.path("jobs.ndjson"), lines).unwrap();
    sandbox.run("enqueue mail --ndjson jobs.ndjson").ok();
    let worker = ScrapedWorker::start(
        &sandbox,
        "worker --queue mail --stdio -j 100 --metrics 0 -- python3 worker.py",
    );

    let attempts = |samples: &Samples, label: &str| {
        samples.sum("windlass_attempts_total", &["queue=\"mail\"", label])
    };
    let outcome =
        |samples: &Samples, outcome: &str| attempts(samples, &format!("outcome=\"{outcome}\""));
    // Counted when the store has replied, so the store has what the metrics have.
    let samples = wait_for("all jobs end", || {
        let samples = worker.scrape();
        let ended = outcome(&samples, "completed") + outcome(&samples, "dead");
        (ended >= JOBS).then_some(samples)
    });

    let stats = sandbox.run("queue stats mail --json").ok().json();
    let total = |event: &str| stats["total"][event].as_u64().unwrap();
    assert_eq!(total("enqueued"), JOBS);
    assert_eq!(outcome(&samples, "completed"), total("succeeded"));
    assert_eq!(outcome(&samples, "dead"), total("dead"));
    assert_eq!(total("dead"), 100);
    assert_eq!(outcome(&samples, "retrying"), 400);
    for other in ["released", "snoozed", "cancelled", "lease_lost"] {
        assert_eq!(outcome(&samples, other), 0, "{other}");
    }
    let all = JOBS + 400;
    assert_eq!(attempts(&samples, "kind="), all);
    assert_eq!(attempts(&samples, "kind=\"parcel\""), JOBS / 2);
    for histogram in ["windlass_attempt_duration_seconds", "windlass_wait_seconds"] {
        let count = samples.sum(&format!("{histogram}_count"), &["queue=\"mail\""]);
        assert_eq!(count, all, "{histogram}");
    }
    assert_eq!(samples.sum("windlass_running", &["mail"]), 0);
    assert_eq!(samples.sum("windlass_concurrency", &[]), 100);
    worker.terminate();
}

#[test]
fn the_metrics_of_up_have_queues_workers_and_its_own_attempts() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --kind letter").ok();
    let up = TestServer::start(
        &sandbox,
        "up --listen 127.0.0.1:0 --queue mail -- true",
        |_| {},
    );

    let samples = wait_for("the job ends", || {
        let response = up.request("GET", "/metrics", "");
        let samples = Samples(String::from_utf8(response.body).unwrap());
        (samples.sum("windlass_attempts_total", &["letter", "completed"]) == 1).then_some(samples)
    });

    assert_eq!(
        samples.sum("windlass_job_events_total", &["mail", "succeeded"]),
        1
    );
    assert_eq!(samples.sum("windlass_workers", &["mail"]), 1);
    assert_eq!(samples.sum("windlass_store_errors_total", &[]), 0);
    assert_eq!(samples.sum("windlass_build_info", &[]), 1);
}
