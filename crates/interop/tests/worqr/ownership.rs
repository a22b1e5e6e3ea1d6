//! Workers of the original beside ours: whose task is it?

use windlass_interop::worqr::Failed;

use crate::place::Place;

#[tokio::test(flavor = "multi_thread")]
async fn the_tasks_of_a_dead_original_go_back_while_ours_work_on() {
    let place = Place::released().await;
    let tasks = ["a", "b", "c"];
    place.worqr.enqueue_many("mail", tasks).await.unwrap();
    place.worker("ours", "mail").await;
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    let ours = place.start("ours", "mail").await;
    let (_, task) = original.dequeue("mail").unwrap();
    assert_eq!(task, "b");
    original.dies();
    let mut ear = place.ear();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!((cleaned.workers, cleaned.tasks), (vec!["o".to_owned()], 1));
    assert_eq!(place.waiting("mail").await, ["c", "b"]);
    assert_eq!(ear.heard(), ["worqr_mail_work 2"]);
    let matching = place.worqr.matching_processes("a").await.unwrap();
    assert_eq!(matching, [ours.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_living_original_keeps_its_tasks_when_another_dies() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    let [mut dying, mut living] = ["dying", "living"].map(|id| {
        let mut original = place.original(id);
        original.start_worker();
        original.start_work("mail");
        original
    });
    dying.dequeue("mail").unwrap();
    living.dequeue("mail").unwrap();
    dying.dies();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    // Nobody can say whose is whose: the dead one stays noted, for its kin to find.
    assert_eq!(
        (cleaned.tasks, cleaned.undecided),
        (0, vec!["dying".to_owned()])
    );
    assert_eq!(place.worqr.processes().await.unwrap().len(), 2);
    let noted = "SISMEMBER worqr:expiringWorkers dying";
    assert_eq!(place.command(noted).integer(), 1);

    living.dies();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 2);
    assert_eq!(cleaned.undecided, [""; 0]);
    assert_eq!(place.worqr.workers().await.unwrap(), [""; 0]);
    assert_eq!(place.worqr.processes().await.unwrap(), []);
    assert_eq!(place.worqr.count("mail").await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_at_another_queue_does_not_keep_these_tasks() {
    let place = Place::released().await;
    place.worqr.enqueue("mail", "a").await.unwrap();
    let mut elsewhere = place.original("elsewhere");
    elsewhere.start_worker();
    elsewhere.start_work("post");
    let mut dying = place.original("dying");
    dying.start_worker();
    dying.start_work("mail");
    dying.dequeue("mail").unwrap();
    dying.dies();
    let cleaned = place.worqr.cleanup_workers().await.unwrap();
    assert_eq!(cleaned.tasks, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_worker_of_ours_leaves_the_tasks_of_a_living_original() {
    let place = Place::released().await;
    place.worqr.enqueue_many("mail", ["a", "b"]).await.unwrap();
    let mut original = place.original("o");
    original.start_worker();
    original.start_work("mail");
    let (process, _) = original.dequeue("mail").unwrap();
    place.worker("ours", "mail").await;
    place.start("ours", "mail").await;
    assert_eq!(
        place.worqr.fail_worker("ours").await.unwrap(),
        Failed::Ended(1)
    );
    assert_eq!(place.waiting("mail").await, ["b"]);
    let done = original.finish("mail", &process, "0cc175b9c0f1b6a831c399e269772661");
    assert_eq!(done.unwrap(), "a");
}
