//! Lists, and their time bounds.

use std::fmt::Write as _;

use super::script::processor;

/// One job in each state, eight seconds after the first one started.
const SETUP: &str = r#"
    > {"topic":"workers/w1/worker_idle","service_name":"encoder","service_host":"box","payload":{"queue_name":"q"}}
    < {"payload":{"ok":true}}
    : running is added to q
    < {"payload":{"uuid":"running"}}
    ~ 2s
    : w1 accepts running of q
    ~ 2s
    > {"topic":"worker_busy","service_uuid":"w1","payload":{"uuid":"running","queue_name":"q","status":{"progress":0.5}}}
    < {"payload":{"ok":true}}
    : w2 is offered offered of q
    ~ 2s
    > {"topic":"add_job","payload":{"uuid":"waiting","queue_name":"q","priority":7}}
    < {"payload":{"ok":true}}
    ~ 2s
"#;

async fn check(request: &str, reply: &str) {
    processor(&format!("{SETUP}> {request}\n< {reply}")).await;
}

#[tokio::test]
async fn list_queue_jobs_shows_where_each_job_is() {
    check(
        r#"{"topic":"list_queue_jobs","reference":1,"payload":{"queue_name":"q"}}"#,
        r#"{"topic":"default/job_queue/list_queue_jobs_reply","reference":1,"payload":{"ok":true,"queue_name":"q","cursor":null,"jobs":[
            {"uuid":"offered","state":"dispatched","accepted_at":null,"worker":"w2"},
            {"uuid":"running","state":"processing","dispatched_at":"2026-01-31T08:05:00.000Z","accepted_at":"2026-01-31T08:05:02.000Z","last_progress_at":"2026-01-31T08:05:04.000Z","progress":0.5,"worker":"w1"},
            {"uuid":"waiting","state":"queued","priority":7,"created_at":"2026-01-31T08:05:06.000Z","dispatched_at":null,"accepted_at":null,"last_progress_at":null,"progress":null,"worker":null}]}}"#
            .replace('\n', " ")
            .as_str(),
    )
    .await;
}

#[tokio::test]
async fn list_queue_jobs_can_be_limited_to_one_state() {
    for (state, found) in [
        ("queued", r#"{"uuid":"waiting"}"#),
        ("dispatched", r#"{"uuid":"offered"}"#),
        ("processing", r#"{"uuid":"running"}"#),
        ("accepted", ""),
        ("finished", ""),
    ] {
        check(
            &format!(
                r#"{{"topic":"list_queue_jobs","payload":{{"queue_name":"q","state":"{state}"}}}}"#
            ),
            &format!(r#"{{"payload":{{"ok":true,"jobs":[{found}]}}}}"#),
        )
        .await;
    }
}

#[tokio::test]
async fn list_queue_dispatched_shows_what_is_offered() {
    for name in ["list_queue_dispatched", "list_leased_queue"] {
        check(
            &format!(r#"{{"topic":"job_queue/{name}","payload":{{"queue_name":"q"}}}}"#),
            &format!(r#"{{"topic":"default/job_queue/{name}_reply","payload":{{"jobs":[{{"uuid":"offered","dispatched_at":"2026-01-31T08:05:04.000Z","accepted_at":null,"worker":"w2"}}]}}}}"#),
        )
        .await;
    }
}

#[tokio::test]
async fn list_queue_progress_shows_what_is_accepted() {
    check(
        r#"{"topic":"list_queue_progress","payload":{"queue_name":"q"}}"#,
        r#"{"payload":{"jobs":[{"uuid":"running","accepted_at":"2026-01-31T08:05:02.000Z","last_progress_at":"2026-01-31T08:05:04.000Z","progress":0.5,"worker":"w1"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn list_queue_workers_shows_each_worker_and_its_job() {
    check(
        r#"{"topic":"list_queue_workers","payload":{"queue_name":"q"}}"#,
        r#"{"payload":{"workers":[{"worker":"w1","name":"encoder","host":"box","state":"busy","uuid":"running","accepted_at":"2026-01-31T08:05:02.000Z","last_progress_at":"2026-01-31T08:05:04.000Z","progress":0.5,"last_seen_at":"2026-01-31T08:05:04.000Z"},{"worker":"w2","state":"busy","uuid":"offered","accepted_at":null,"progress":null}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn time_bounds_are_exclusive() {
    for (name, bounds, found) in [
        (
            "jobs",
            r#""later_than":"2026-01-31T08:05:04Z""#,
            r#"{"uuid":"waiting"}"#,
        ),
        (
            "jobs",
            r#""later_than":1769846700,"earlier_than":"2026-01-31T08:05:06Z""#,
            r#"{"uuid":"offered"}"#,
        ),
        ("jobs", r#""later_than":"2026-01-31T08:05:06Z""#, ""),
        (
            "dispatched",
            r#""later_than":"-inf","earlier_than":"2026-01-31T08:05:05Z""#,
            r#"{"uuid":"offered"}"#,
        ),
        ("dispatched", r#""earlier_than":"2026-01-31T08:05:04Z""#, ""),
        (
            "progress",
            r#""later_than":"2026-01-31T08:05:03Z","earlier_than":"+inf""#,
            r#"{"uuid":"running"}"#,
        ),
        ("progress", r#""later_than":"2026-01-31T08:05:04Z""#, ""),
        ("workers", r#""later_than":"2026-01-31T08:05:05Z""#, ""),
    ] {
        let list = if name == "workers" { "workers" } else { "jobs" };
        check(
            &format!(r#"{{"topic":"list_queue_{name}","payload":{{"queue_name":"q",{bounds}}}}}"#),
            &format!(r#"{{"payload":{{"ok":true,"{list}":[{found}]}}}}"#),
        )
        .await;
    }
}

#[tokio::test]
async fn an_invalid_list_request_is_refused() {
    for fields in [
        r#""limit":5"#,
        r#""queue_name":"q","later_than":"yesterday""#,
        r#""queue_name":"q","earlier_than":true"#,
        r#""queue_name":"q","limit":0"#,
        r#""queue_name":"q","limit":"many""#,
        r#""queue_name":"q","cursor":7"#,
        r#""queue_name":"q","state":"happy""#,
    ] {
        check(
            &format!(r#"{{"topic":"list_queue_jobs","reference":2,"payload":{{{fields}}}}}"#),
            r#"{"topic":"default/job_queue/list_queue_jobs_reply","reference":2,"payload":{"ok":false,"error":{"code":"invalid"}}}"#,
        )
        .await;
    }
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let mut script = String::new();
    for job in 0..5 {
        let _ = write!(
            script,
            "> {{\"topic\":\"add_job\",\"payload\":{{\"uuid\":\"j{job}\",\"queue_name\":\"q\"}}}}\n\
             < {{\"payload\":{{\"ok\":true}}}}\n"
        );
    }
    script += r#"> {"topic":"list_queue_jobs","payload":{"queue_name":"q","limit":3}}
                 < {"payload":{"jobs":[{"uuid":"j0"},{"uuid":"j1"},{"uuid":"j2"}],"cursor":"…"}}"#;
    processor(&script).await;
}
