//! One session per topic: the replies to valid and to invalid messages.

use super::script::{Fixture, processor, replay_processor};

#[tokio::test]
async fn add_job_stores_a_job_once() {
    processor(
        r#"> {"topic":"default/job_queue/add_job","service_uuid":"c","reference":{"a":1},"payload":{"uuid":"j1","queue_name":"q","command":"ls"}}
           < {"topic":"default/job_queue/add_job_reply","service_name":"job_queue","service_uuid":"processor-1","service_host":"here","created_at":"2026-01-31T08:05:00.000Z","reference":{"a":1},"payload":{"reference":{"a":1},"ok":true,"uuid":"j1","queue_name":"q","state":"queued"}}
           > {"topic":"add_job","payload":{"uuid":"j1","queue_name":"q","command":"other","reference":"again"}}
           < {"topic":"default/job_queue/add_job_reply","reference":"again","payload":{"ok":false,"reference":"again","error":{"code":"duplicate","line":1}}}
           > {"topic":"list_queue_jobs","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"jobs":[{"uuid":"j1","state":"queued","priority":5}],"cursor":null}}"#,
    )
    .await;
}

#[tokio::test]
async fn add_job_refuses_what_is_not_a_job() {
    for payload in [
        r#"{"queue_name":"q"}"#,
        r#"{"uuid":"j"}"#,
        r#"{"uuid":7,"queue_name":"q"}"#,
        r#"{"uuid":"j","queue_name":["q"]}"#,
        r#"{"uuid":"j","queue_name":"q q"}"#,
        r#"{"uuid":"","queue_name":"q"}"#,
        r#"{"uuid":"j","queue_name":"q","priority":10}"#,
        r#"{"uuid":"j","queue_name":"q","priority":-1}"#,
        r#"{"uuid":"j","queue_name":"q","priority":1.5}"#,
        r#"{"uuid":"j","queue_name":"q","priority":"1"}"#,
        r#"{"uuid":"j","uuid":"k","queue_name":"q"}"#,
        "[]",
        "7",
    ] {
        processor(&format!(
            r#"> {{"topic":"add_job","reference":1,"payload":{payload}}}
               < {{"topic":"default/job_queue/add_job_reply","reference":1,"payload":{{"ok":false,"error":{{"code":"invalid","line":1}}}}}}
               > {{"topic":"list_queue_jobs","payload":{{"queue_name":"q"}}}}
               < {{"payload":{{"jobs":[]}}}}"#
        ))
        .await;
    }
}

#[tokio::test]
async fn priorities_come_before_the_order_of_arrival() {
    processor(
        r#"> {"topic":"add_job","payload":{"uuid":"last","queue_name":"q","priority":9}}
           < {"payload":{"ok":true}}
           : plain is added to q
           > {"topic":"add_job","payload":{"uuid":"first","queue_name":"q","priority":0}}
           < {"payload":{"ok":true}}
           > {"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}
           < {"topic":"default/job_queue/worker_idle_reply","payload":{"ok":true,"worker":"w1"}}
           < {"topic":"default/job_queue/workers/w1/job_assignment","payload":{"uuid":"first"}}
           > {"topic":"workers/w2/worker_idle","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"worker":"w2"}}
           < {"topic":"default/job_queue/workers/w2/job_assignment","payload":{"uuid":"plain"}}
           > {"topic":"workers/w3/worker_idle","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"worker":"w3"}}
           < {"topic":"default/job_queue/workers/w3/job_assignment","payload":{"uuid":"last"}}"#,
    )
    .await;
}

#[tokio::test]
async fn an_idle_worker_gets_the_stored_payload_and_when_it_was_dispatched() {
    processor(
        r#"> {"topic":"workers/w1/worker_idle","service_uuid":"w1","reference":"i","payload":{"queue_name":"q"}}
           < {"topic":"default/job_queue/worker_idle_reply","reference":"i","payload":{"ok":true,"queue_name":"q","worker":"w1","released":[]}}
           ~ 1s
           > {"topic":"add_job","payload":{"uuid":"j","queue_name":"q","args":["a",1.0],"deep":{"b":null}}}
           < {"payload":{"ok":true}}
           < {"topic":"default/job_queue/workers/w1/job_assignment","payload":{"uuid":"j","queue_name":"q","args":["a",1.0],"deep":{"b":null},"dispatched_at":"2026-01-31T08:05:01.000Z"}}
           > {"topic":"worker_idle","service_uuid":"w1","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"released":[]}}"#,
    )
    .await;
}

#[tokio::test]
async fn worker_idle_from_nobody_is_refused() {
    processor(
        r#"> {"topic":"worker_idle","reference":1,"payload":{"queue_name":"q"}}
           < {"topic":"default/job_queue/worker_idle_reply","reference":1,"payload":{"ok":false,"error":{"code":"invalid"}}}
           > {"topic":"worker_idle","service_uuid":"a/b","payload":{"queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"invalid"}}}
           > {"topic":"worker_idle","service_uuid":5,"reference":2,"payload":{"queue_name":"q"}}
           < {"topic":"default/job_queue/worker_idle_reply","reference":2,"payload":{"ok":false,"error":{"code":"invalid"}}}"#,
    )
    .await;
}

#[tokio::test]
async fn job_accepted_is_for_the_worker_that_was_offered_the_job() {
    processor(
        r#": j is added to q
           : w1 is idle at q
           < {"topic":"default/job_queue/workers/w1/job_assignment"}
           > {"topic":"workers/w2/job_accepted","reference":1,"payload":{"uuid":"j","queue_name":"q"}}
           < {"topic":"default/job_queue/job_accepted_reply","reference":1,"payload":{"ok":false,"error":{"code":"lease_lost"}}}
           > {"topic":"workers/w1/job_accepted","payload":{"uuid":"none","queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"not_found"}}}
           > {"topic":"workers/w1/job_accepted","payload":{"uuid":"j","queue_name":"q","started_at":"2026-01-31T08:05:00Z"}}
           < {"payload":{"ok":true,"uuid":"j","queue_name":"q","state":"accepted"}}
           > {"topic":"workers/w1/job_accepted","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"accepted"}}"#,
    )
    .await;
}

#[tokio::test]
async fn worker_busy_notes_progress_between_0_and_1() {
    for name in ["worker_busy", "worker_progress"] {
        processor(&format!(
            r#": j is added to q
               : w1 is idle at q
               < {{"payload":{{"uuid":"j"}}}}
               : w1 accepts j of q
               > {{"topic":"{name}","service_uuid":"w1","reference":3,"payload":{{"uuid":"j","queue_name":"q","status":{{"progress":0.25}}}}}}
               < {{"topic":"default/job_queue/{name}_reply","reference":3,"payload":{{"ok":true,"uuid":"j","state":"processing","progress":0.25,"cancel":false}}}}
               > {{"topic":"{name}","service_uuid":"w1","payload":{{"uuid":"j","queue_name":"q","progress":0.5}}}}
               < {{"payload":{{"ok":true,"progress":0.5}}}}
               > {{"topic":"{name}","service_uuid":"w1","payload":{{"uuid":"j","queue_name":"q","status":{{"progress":1.01}}}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"invalid"}}}}}}
               > {{"topic":"{name}","service_uuid":"w1","payload":{{"uuid":"j","queue_name":"q","status":{{"progress":-0.01}}}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"invalid"}}}}}}
               > {{"topic":"{name}","service_uuid":"w1","payload":{{"uuid":"j","queue_name":"q","status":{{"progress":"half"}}}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"invalid"}}}}}}
               > {{"topic":"list_queue_progress","payload":{{"queue_name":"q"}}}}
               < {{"payload":{{"jobs":[{{"uuid":"j","progress":0.5,"worker":"w1","state":"processing"}}]}}}}"#
        ))
        .await;
    }
}

#[tokio::test]
async fn an_invalid_priority_is_named_with_its_range() {
    for (priority, message) in [
        ("-1", "invalid priority: -1 is too small; minimum 0"),
        ("10", "invalid priority: 10 is too large; maximum 9"),
        ("300", "invalid priority: 300 is too large; maximum 9"),
        (
            "1.5",
            "invalid field priority: invalid type: floating point `1.5`, expected a whole number",
        ),
    ] {
        processor(&format!(
            r#"> {{"topic":"add_job","payload":{{"uuid":"j","queue_name":"q","priority":{priority}}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"invalid","message":"{message}"}}}}}}"#
        ))
        .await;
    }
}

#[tokio::test]
async fn older_names_ask_for_a_job() {
    for name in ["lease_job", "request_job"] {
        processor(&format!(
            r#": j is added to q
               > {{"topic":"default/job_queue/{name}","service_uuid":"w1","payload":{{"queue_name":"q"}}}}
               < {{"topic":"default/job_queue/{name}_reply","payload":{{"ok":true,"worker":"w1"}}}}
               < {{"topic":"default/job_queue/workers/w1/job_assignment","payload":{{"uuid":"j"}}}}"#
        ))
        .await;
    }
}

#[tokio::test]
async fn job_finished_ends_the_job_and_makes_room_for_the_next() {
    for name in ["job_finished", "worker_finished", "complete_job"] {
        processor(&format!(
            r#": w1 is offered j1 of q
               : j2 is added to q
               : w1 accepts j1 of q
               > {{"topic":"workers/w1/{name}","reference":9,"payload":{{"uuid":"j1","queue_name":"q","finished_at":1769846701}}}}
               < {{"topic":"default/job_queue/{name}_reply","reference":9,"payload":{{"ok":true,"uuid":"j1","state":"finished"}}}}
               < {{"topic":"default/job_queue/workers/w1/job_assignment","payload":{{"uuid":"j2"}}}}
               > {{"topic":"workers/w1/{name}","payload":{{"uuid":"j1","queue_name":"q"}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"wrong_state"}}}}}}
               > {{"topic":"workers/w1/{name}","payload":{{"uuid":"none","queue_name":"q"}}}}
               < {{"payload":{{"ok":false,"error":{{"code":"not_found"}}}}}}
               > {{"topic":"list_queue_jobs","payload":{{"queue_name":"q"}}}}
               < {{"payload":{{"jobs":[{{"uuid":"j1","state":"finished","finished_at":"2026-01-31T08:05:00.000Z"}},{{"uuid":"j2","state":"dispatched"}}]}}}}"#
        ))
        .await;
    }
}

#[tokio::test]
async fn the_payload_of_job_finished_is_the_result() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    replay_processor(
        &fixture,
        &processor,
        r#": w1 is offered j of q
           > {"topic":"workers/w1/job_finished","payload":{"uuid":"j","queue_name":"q" , "out":[1.0]}}
           < {"payload":{"ok":true}}"#,
    )
    .await;

    let queue = windlass_core::QueueName::new("q").unwrap();
    let id = windlass_core::JobId::new("j").unwrap();
    let job = fixture.store.get(&queue, &id).await.unwrap().unwrap();

    assert_eq!(
        job.result.unwrap(),
        r#"{"uuid":"j","queue_name":"q" , "out":[1.0]}"#
    );
}

#[tokio::test]
async fn del_job_removes_what_waits_and_stops_what_runs() {
    processor(
        r#"> {"topic":"del_job","reference":1,"payload":{"uuid":"none","queue_name":"q"}}
           < {"topic":"default/job_queue/del_job_reply","reference":1,"payload":{"ok":false,"error":{"code":"not_found"}}}
           : j is added to q
           > {"topic":"job_queue/del_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"uuid":"j","queue_name":"q","state":"deleted"}}
           > {"topic":"list_queue_jobs","payload":{"queue_name":"q"}}
           < {"payload":{"jobs":[]}}
           : j is added to q
           : w1 is idle at q
           < {"payload":{"uuid":"j"}}
           : w1 accepts j of q
           > {"topic":"del_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"will_stop"}}
           > {"topic":"worker_busy","service_uuid":"w1","payload":{"uuid":"j","queue_name":"q","status":{"progress":0.1}}}
           < {"payload":{"ok":true,"cancel":true}}
           > {"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"released":["j"]}}
           > {"topic":"list_queue_jobs","payload":{"queue_name":"q"}}
           < {"payload":{"jobs":[{"uuid":"j","state":"cancelled"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_job_deleted_while_it_is_offered_does_not_start() {
    processor(
        r#": j is added to q
           : w1 is idle at q
           < {"payload":{"uuid":"j"}}
           > {"topic":"del_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"will_stop"}}
           > {"topic":"workers/w1/job_accepted","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"cancelled"}}}
           > {"topic":"list_queue_jobs","payload":{"queue_name":"q"}}
           < {"payload":{"jobs":[{"uuid":"j","state":"cancelled"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_message_that_cannot_be_parsed_is_answered_too() {
    processor(
        r#"> {"topic":
           < {"topic":"default/job_queue/error_reply","payload":{"reference":null,"ok":false,"error":{"code":"invalid","message":"…","help":"…","line":1}}}
           > [1]
           < {"topic":"default/job_queue/error_reply","payload":{"ok":false}}
           > {"payload":{},"reference":4}
           < {"topic":"default/job_queue/error_reply","reference":4,"payload":{"reference":4,"ok":false}}
           > {"topic":["tick"],"reference":5}
           < {"topic":"default/job_queue/error_reply","reference":5,"payload":{"ok":false}}
           > {"topic":"tick","topic":"tick"}
           < {"topic":"default/job_queue/error_reply","payload":{"ok":false}}
           > {"topic":"default/job_queue/dance","reference":6}
           < {"topic":"default/job_queue/error_reply","reference":6,"payload":{"ok":false,"error":{"code":"invalid"}}}
           > {"topic":"default/job_queue/add_job_reply","payload":{"ok":true}}
           > {"topic":"default/job_queue/workers/w1/job_assignment","payload":{"uuid":"j"}}"#,
    )
    .await;
}

#[tokio::test]
async fn namespaces_are_taken_off_and_put_on() {
    let fixture = Fixture::new();
    let processor = fixture.processor_with(|options| {
        options.listener = "in/side".to_owned();
        options.publisher = "out".to_owned();
    });
    replay_processor(
        &fixture,
        &processor,
        r#"> {"topic":"in/side/job_queue/add_job","payload":{"uuid":"j","queue_name":"q"}}
           < {"topic":"out/job_queue/add_job_reply","payload":{"ok":true}}
           > {"topic":"in/side/job_queue/workers/w/worker_idle","payload":{"queue_name":"q"}}
           < {"topic":"out/job_queue/worker_idle_reply"}
           < {"topic":"out/job_queue/workers/w/job_assignment","payload":{"uuid":"j"}}
           > {"topic":"default/job_queue/add_job","payload":{"uuid":"k","queue_name":"q"}}
           < {"topic":"out/job_queue/error_reply","payload":{"ok":false}}"#,
    )
    .await;
}
