//! As time passes, offers return, silent workers expire, and ticks dispatch waiting jobs.

use super::script::{Fixture, processor, replay_processor};

#[tokio::test]
async fn an_offer_that_is_not_accepted_goes_back_to_the_front_after_three_ticks() {
    processor(
        r#": w1 is offered j1 of q
           : j2 is added to q
           ~ 8999ms
           : w2 is idle at q
           < {"topic":"default/job_queue/workers/w2/job_assignment","payload":{"uuid":"j2"}}
           : w3 is idle at q
           ~ 1ms
           > {"topic":"default/tick","reference":5}
           < {"topic":"default/job_queue/tick_reply","reference":5,"payload":{"ok":true,"workers_expired":1,"dispatched":1}}
           < {"topic":"default/job_queue/workers/w3/job_assignment","payload":{"uuid":"j1"}}
           > {"topic":"workers/w1/job_accepted","payload":{"uuid":"j1","queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"lease_lost"}}}
           : w3 accepts j1 of q
           > {"topic":"list_queue_progress","payload":{"queue_name":"q"}}
           < {"payload":{"jobs":[{"uuid":"j1","worker":"w3"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_worker_that_is_silent_for_three_ticks_loses_what_it_accepted() {
    processor(
        r#": w1 is offered j of q
           : w1 accepts j of q
           ~ 8999ms
           : w2 is idle at q
           ~ 1ms
           > {"topic":"tick"}
           < {"payload":{"ok":true,"workers_expired":1,"dispatched":1}}
           < {"topic":"default/job_queue/workers/w2/job_assignment","payload":{"uuid":"j"}}
           > {"topic":"list_queue_workers","payload":{"queue_name":"q"}}
           < {"payload":{"workers":[{"worker":"w2","state":"busy","uuid":"j"}]}}
           > {"topic":"workers/w1/job_finished","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"lease_lost"}}}"#,
    )
    .await;
}

#[tokio::test]
async fn progress_keeps_a_job_and_its_worker_alive() {
    processor(
        r#": w1 is offered j of q
           : w1 accepts j of q
           ~ 8s
           > {"topic":"worker_busy","service_uuid":"w1","payload":{"uuid":"j","queue_name":"q","status":{"progress":0.5}}}
           < {"payload":{"ok":true}}
           ~ 8s
           > {"topic":"tick"}
           < {"payload":{"ok":true,"workers_expired":0,"dispatched":0}}
           > {"topic":"workers/w1/job_finished","payload":{"uuid":"j","queue_name":"q"}}
           < {"payload":{"ok":true,"state":"finished"}}"#,
    )
    .await;
}

#[tokio::test]
async fn one_tick_dispatches_to_all_idle_workers() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    for worker in 1..=3 {
        let idle = format!(": w{worker} is idle at q");
        replay_processor(&fixture, &processor, &idle).await;
    }
    // Enqueued through the store, so that no message to the processor dispatches them.
    let queue = windlass_core::QueueName::new("q").unwrap();
    let jobs = ["a", "b", "c", "d"].map(windlass_core::NewJob::new);
    fixture.store.enqueue(&queue, jobs.to_vec()).await.unwrap();

    replay_processor(
        &fixture,
        &processor,
        r#"> {"topic":"tick"}
           < {"payload":{"ok":true,"dispatched":3}}
           < {"payload":{"payload":"a","queue_name":"q","uuid":"…"}}
           < {"payload":{"payload":"b"}}
           < {"payload":{"payload":"c"}}"#,
    )
    .await;
}

#[tokio::test]
async fn another_processor_continues_where_one_ended() {
    let fixture = Fixture::new();
    let first = fixture.processor();
    replay_processor(
        &fixture,
        &first,
        r#": w1 is idle at q
           : w2 is idle at q
           : j1 is added to q
           < {"topic":"…","payload":{"uuid":"j1"}}"#,
    )
    .await;
    drop(first);
    let second = fixture.processor_with(|options| {
        "processor-2".clone_into(&mut options.identity.service_uuid);
    });
    replay_processor(
        &fixture,
        &second,
        r#": w1 accepts j1 of q
           : j2 is added to q
           < {"topic":"default/job_queue/workers/w2/job_assignment","payload":{"uuid":"j2"}}
           > {"topic":"workers/w1/job_finished","payload":{"uuid":"j1","queue_name":"q"}}
           < {"payload":{"ok":true}}"#,
    )
    .await;
}
