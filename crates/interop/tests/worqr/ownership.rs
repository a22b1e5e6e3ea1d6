//! Original and Windlass workers on one queue: which worker owns a task.

use windlass_interop::worqr::WorkerFailure;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn the_tasks_of_a_dead_original_are_returned_while_windlass_workers_continue() {
    let fixture = Fixture::released().await;
    let tasks = ["a", "b", "c"];
    fixture.worqr.enqueue_many("mail", tasks).await.unwrap();
    fixture.worker("ours", "mail").await;
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    let ours = fixture.start("ours", "mail").await;
    let (_, task) = original.dequeue("mail").unwrap();
    assert_eq!(task, "b");
    original.dies();
    let mut subscriber = fixture.subscriber();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!((cleaned.workers, cleaned.tasks), (vec!["o".to_owned()], 1));
    assert_eq!(fixture.waiting("mail").await, ["c", "b"]);
    assert_eq!(subscriber.messages(), ["worqr_mail_work 2"]);
    let matching = fixture.worqr.matching_processes("a").await.unwrap();
    assert_eq!(matching, [ours.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_living_original_keeps_its_tasks_when_another_dies() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    let [mut dying, mut living] = ["dying", "living"].map(|id| {
        let mut original = fixture.original(id);
        original.start_worker();
        original.start_work("mail");
        original
    });
    dying.dequeue("mail").unwrap();
    living.dequeue("mail").unwrap();
    dying.dies();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    // The owners are unknown: the dead worker stays recorded, for the original's cleanup.
    assert_eq!(
        (cleaned.tasks, cleaned.undecided),
        (0, vec!["dying".to_owned()])
    );
    assert_eq!(fixture.worqr.processes().await.unwrap().len(), 2);
    let is_recorded = "SISMEMBER worqr:expiringWorkers dying";
    assert_eq!(fixture.command(is_recorded).integer(), 1);

    living.dies();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 2);
    assert_eq!(cleaned.undecided, [""; 0]);
    assert_eq!(fixture.worqr.workers().await.unwrap(), [""; 0]);
    assert_eq!(fixture.worqr.processes().await.unwrap(), []);
    assert_eq!(fixture.worqr.count("mail").await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_at_another_queue_does_not_keep_these_tasks() {
    let fixture = Fixture::released().await;
    fixture.worqr.enqueue("mail", "a").await.unwrap();
    let mut elsewhere = fixture.original("elsewhere");
    elsewhere.start_worker();
    elsewhere.start_work("post");
    let mut dying = fixture.original("dying");
    dying.start_worker();
    dying.start_work("mail");
    dying.dequeue("mail").unwrap();
    dying.dies();
    let cleaned = fixture.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_windlass_worker_leaves_the_tasks_of_a_living_original() {
    let fixture = Fixture::released().await;
    fixture
        .worqr
        .enqueue_many("mail", ["a", "b"])
        .await
        .unwrap();
    let mut original = fixture.original("o");
    original.start_worker();
    original.start_work("mail");
    let (process, _) = original.dequeue("mail").unwrap();
    fixture.worker("ours", "mail").await;
    fixture.start("ours", "mail").await;
    assert_eq!(
        fixture.worqr.fail_worker("ours").await.unwrap(),
        WorkerFailure::Ended(1)
    );
    assert_eq!(fixture.waiting("mail").await, ["b"]);
    let done = original.finish("mail", &process, "0cc175b9c0f1b6a831c399e269772661");
    assert_eq!(done.unwrap(), "a");
}
