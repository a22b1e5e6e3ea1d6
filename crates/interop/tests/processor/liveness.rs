//! Which workers are idle or busy, and which worker owns a job.

use windlass_core::store::{Claimer, Reason};
use windlass_core::{
    BootId, ClaimRequest, JobId, JobLease, JobState, LeaseTime, Mode, QueueName, Store,
};

use super::script::{Fixture, processor, replay_processor};

#[tokio::test]
async fn a_worker_that_is_idle_again_gives_back_what_it_had_accepted() {
    processor(
        r#": w1 is offered j1 of q
           : j2 is added to q
           : w1 accepts j1 of q
           > {"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"released":["j1"]}}
           < {"topic":"default/job_queue/workers/w1/job_assignment","payload":{"uuid":"j1"}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_worker_is_offered_one_job_at_a_time() {
    processor(
        r#": w1 is offered j1 of q
           : j2 is added to q
           > {"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}
           < {"payload":{"ok":true,"released":[]}}
           > {"topic":"list_queue_dispatched","payload":{"queue_name":"q"}}
           < {"payload":{"jobs":[{"uuid":"j1","worker":"w1"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_worker_at_a_job_it_lost_is_left_alone_until_it_is_idle() {
    processor(
        r#": w1 is idle at q
           > {"topic":"worker_busy","service_uuid":"w1","payload":{"uuid":"gone","queue_name":"q","status":{"progress":0.5}}}
           < {"payload":{"ok":false,"error":{"code":"not_found"}}}
           : j is added to q
           : w1 is idle at q
           < {"payload":{"uuid":"j"}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_worker_may_be_in_several_groups_and_hold_a_job_of_each() {
    processor(
        r#": w1 is offered ja of a
           : w1 accepts ja of a
           ~ 8s
           > {"topic":"workers/w1/worker_idle","payload":{"queue_name":"b"}}
           < {"payload":{"ok":true,"released":[]}}
           ~ 8s
           > {"topic":"tick"}
           < {"payload":{"workers_expired":0,"dispatched":0}}
           > {"topic":"list_queue_progress","payload":{"queue_name":"a"}}
           < {"payload":{"jobs":[{"uuid":"ja","worker":"w1"}]}}
           : jb is added to b
           < {"topic":"default/job_queue/workers/w1/job_assignment","payload":{"uuid":"jb","queue_name":"b"}}
           > {"topic":"workers/w1/job_finished","payload":{"uuid":"ja","queue_name":"a"}}
           < {"payload":{"ok":true,"state":"finished"}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_worker_that_was_forgotten_gives_back_what_it_accepted_and_keeps_what_it_is_offered() {
    for (has_accepted, released) in [(true, r#"["j"]"#), (false, "[]")] {
        let fixture = Fixture::new();
        let processor = fixture.processor();
        replay_processor(&fixture, &processor, ": j is added to q").await;
        let hold = offer_to_unknown_worker(fixture.store.as_ref()).await;
        if has_accepted {
            let lease = std::time::Duration::from_secs(10);
            fixture
                .store
                .accept(&queue(), hold, LeaseTime::nearest(lease))
                .await
                .unwrap();
        }

        let idle = r#"{"topic":"workers/w1/worker_idle","payload":{"queue_name":"q"}}"#;
        let answers = processor.handle(1, idle).await;

        assert!(
            answers[0].contains(&format!("\"released\":{released}")),
            "{has_accepted}: {answers:?}"
        );
    }
}

fn queue() -> QueueName {
    QueueName::new("q").unwrap()
}

/// Offers the job of the queue to a worker that is not registered.
async fn offer_to_unknown_worker(store: &dyn Store) -> JobLease {
    let mut request = ClaimRequest::single(1).mode(Mode::Dispatch);
    request.claimer = Claimer::Single {
        worker: Some(BootId::new("w1").unwrap()),
    };
    let claim = store.claim(&queue(), request).await.unwrap();
    let claim = claim.expect("a job is ready");
    JobLease::new(claim.jobs[0].id.clone(), claim.token)
}

#[tokio::test]
async fn a_job_that_was_lost_by_four_workers_is_dead() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    replay_processor(&fixture, &processor, ": j is added to q").await;
    for worker in ["w1", "w2", "w3", "w4"] {
        let script = format!(
            r#": {worker} is idle at q
               < {{"topic":"default/job_queue/workers/{worker}/job_assignment","payload":{{"uuid":"j"}}}}
               : {worker} accepts j of q
               ~ 30s
               > {{"topic":"tick"}}
               < {{"payload":{{"workers_expired":1}}}}"#
        );
        replay_processor(&fixture, &processor, &script).await;
    }

    let id = JobId::new("j").unwrap();
    let job = fixture.store.get(&queue(), &id).await.unwrap().unwrap();

    assert_eq!(
        (job.state, job.reason),
        (JobState::Dead, Some(Reason::Poison))
    );
}

#[tokio::test]
async fn a_worker_that_sends_invalid_progress_is_still_alive() {
    processor(
        r#": w1 is idle at q
           ~ 8s
           > {"topic":"worker_busy","service_uuid":"w1","payload":{"uuid":"j","queue_name":"q","status":{"progress":7}}}
           < {"payload":{"ok":false,"error":{"code":"invalid"}}}
           ~ 8s
           > {"topic":"list_queue_workers","payload":{"queue_name":"q"}}
           < {"payload":{"workers":[{"worker":"w1","state":"busy","last_seen_at":"2026-01-31T08:05:08.000Z"}]}}"#,
    )
    .await;
}

#[tokio::test]
async fn queues_do_not_share_workers() {
    processor(
        r#": w1 is idle at a
           : j is added to b
           > {"topic":"tick"}
           < {"payload":{"dispatched":0}}"#,
    )
    .await;
}

#[tokio::test]
async fn workers_of_other_interfaces_are_neither_given_jobs_nor_expired() {
    let fixture = Fixture::new();
    let processor = fixture.processor();
    let queue = windlass_core::QueueName::new("q").unwrap();
    let native = windlass_core::store::NewWorker {
        boot: windlass_core::BootId::new("native").unwrap(),
        name: "exec".to_owned(),
        host: String::new(),
        pid: 1,
        version: "0.1.0".to_owned(),
        queues: vec![queue],
    };
    fixture.store.register(native).await.unwrap();
    replay_processor(
        &fixture,
        &processor,
        r#": j is added to q
           ~ 30s
           > {"topic":"tick"}
           < {"payload":{"workers_expired":0,"dispatched":0}}
           > {"topic":"worker_idle","service_uuid":"native","payload":{"queue_name":"q"}}
           < {"payload":{"ok":false,"error":{"code":"conflict"}}}"#,
    )
    .await;
    let workers = fixture.store.workers().await.unwrap();
    assert!(workers.iter().any(|worker| worker.new.name == "exec"));
}
