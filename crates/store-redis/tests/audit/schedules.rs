//! Damaged schedules: unreadable or lost records, wrong indexes, and jobs that nobody waits for.

use windlass_core::store::{Overlap, ScheduleRecord};
use windlass_core::{JobState, Result};
use windlass_testkit::fixture::{every, lease_of, secs};

use crate::fixture::AuditFixture;

/// Puts some schedules. `buffered` has a running job and one that waits for it.
pub(crate) async fn fill_schedules(test: &AuditFixture) -> Result<()> {
    let fixture = &test.fixture;
    let mut buffered = every("buffered", 60);
    buffered.overlap = Overlap::Buffer;
    buffered.job = buffered.job.priority(windlass_core::Priority::new(0)?);
    fixture.put(buffered).await?;
    fixture.advance(secs(60));
    let claim = fixture.take(1).await?;
    for _ in 0..2 {
        fixture.advance(secs(20));
        fixture.renew(claim.token).await?;
    }
    for seconds in [30, 86_400] {
        fixture
            .put(every(&format!("every{seconds}"), seconds))
            .await?;
    }
    fixture.advance(secs(20));
    fixture.refill().await?;
    let record = fixture.schedule("buffered").await?;
    assert!(record.current.is_some() && record.waiting.is_some());
    Ok(())
}

/// Opens a queue with schedules.
async fn open() -> Result<(AuditFixture, ScheduleRecord)> {
    let test = AuditFixture::open().await;
    fill_schedules(&test).await?;
    assert_eq!(test.repair().await?, <[String; 0]>::default());
    let record = test.fixture.schedule("buffered").await?;
    Ok((test, record))
}

#[tokio::test]
async fn wrong_indexes_are_corrected() -> Result<()> {
    for (key, command) in [
        ("firing", &["ZREM", "every30"][..]),
        ("firing", &["ZADD", "99", "every30"]),
        ("refilling", &["ZREM", "every30"]),
        ("refilling", &["ZADD", "99", "every30"]),
        ("names", &["ZREM", "every30"]),
        ("names", &["ZADD", "1", "every30"]),
        ("state", &["HDEL", "schedules"]),
    ] {
        let (test, _) = open().await?;
        test.command(command[0], key, &command[1..]);

        assert_eq!(
            test.repair().await?,
            ["schedule_not_indexed"],
            "{command:?}"
        );

        test.fixture.advance(secs(30));
        assert_eq!(test.fixture.maintain().await?.instants, 1, "{command:?}");
    }
    Ok(())
}

#[tokio::test]
async fn members_without_a_schedule_are_dropped() -> Result<()> {
    let (test, _) = open().await?;
    test.command("HSET", "plans", &["nobody", "x"]);
    for key in ["firing", "refilling", "names"] {
        test.command("ZADD", key, &["5", "nobody"]);
    }

    assert_eq!(test.repair().await?, ["without_schedule"]);

    Ok(())
}

#[tokio::test]
async fn an_unreadable_schedule_is_dropped_and_its_waiting_job_released() -> Result<()> {
    let (test, record) = open().await?;
    test.command("HSET", "schedules", &["buffered", "buffer last x"]);

    assert_eq!(test.repair().await?, ["schedule_unreadable"]);

    let waiting = record.waiting.expect("a job waits").to_string();
    let job = test.fixture.get(&waiting).await?;
    assert_eq!(job.map(|job| job.state), Some(JobState::Ready));
    let stats = test.fixture.store.stats(&test.fixture.queue).await?;
    assert_eq!(stats.map(|stats| stats.schedules), Some(2));
    Ok(())
}

#[tokio::test]
async fn a_schedule_that_lost_its_state_asks_for_instants() -> Result<()> {
    for text in [None, Some("x"), Some("")] {
        let (test, record) = open().await?;
        match text {
            None => test.command("HDEL", "plans", &["buffered"]),
            Some(text) => test.command("HSET", "plans", &["buffered", text]),
        };
        let waiting = record.waiting.clone().expect("a job waits");

        let pending = format!("pending_alone {waiting}");
        assert_eq!(
            test.repair().await?,
            [&pending, "schedule_not_indexed", "schedule_state_wrong"]
        );

        let now = test.fixture.schedule("buffered").await?;
        assert!(now.revision > record.revision && now.instants.is_empty());
        test.fixture.refill().await?;
        test.fixture.advance(secs(60));
        assert_eq!(test.fixture.maintain().await?.instants, 3);
    }
    Ok(())
}

#[tokio::test]
async fn a_schedule_does_not_wait_for_a_job_that_is_gone() -> Result<()> {
    let (test, record) = open().await?;
    let current = record.current.clone().expect("a job runs").to_string();
    for key in ["jobs", "opts", "running"] {
        test.command("HDEL", key, &[&current]);
    }

    let repairs = test.repair().await?;

    assert!(
        repairs.contains(&"schedule_state_wrong".to_owned()),
        "{repairs:?}"
    );
    let now = test.fixture.schedule("buffered").await?;
    assert_eq!((now.current, now.waiting), (record.waiting, None));
    let id = test.fixture.take(1).await?.jobs[0].id.to_string();
    assert!(id.starts_with("buffered@"), "{id}");
    Ok(())
}

#[tokio::test]
async fn a_pending_job_that_nobody_waits_for_is_released() -> Result<()> {
    let (test, record) = open().await?;
    let waiting = record.waiting.clone().expect("a job waits").to_string();
    let plan = test.command("HGET", "plans", &["buffered"]).text();
    let plan = plan.replacen(&waiting, "", 1);
    test.command("HSET", "plans", &["buffered", &plan]);

    assert_eq!(test.repair().await?, [format!("pending_alone {waiting}")]);

    let claim = test.fixture.take(1).await?;
    assert_eq!(claim.jobs[0].id.as_str(), waiting);
    test.fixture.complete(lease_of(&claim, 0)).await?;
    assert_eq!(
        test.fixture.schedule("buffered").await?.current,
        record.current
    );
    Ok(())
}

#[tokio::test]
async fn damaged_parts_of_a_state_are_dropped_alone() -> Result<()> {
    let (test, record) = open().await?;
    let plan = test.command("HGET", "plans", &["every30"]).text();
    let before = test.fixture.schedule("every30").await?;
    let history = format!("{plan}1 1 never\nx\n");
    let instants = plan.replacen(" \n", " x\n", 1);
    for damaged in [&history, &instants] {
        test.command("HSET", "plans", &["every30", damaged]);
        let repairs = test.repair().await?;
        assert!(
            repairs.contains(&"schedule_state_wrong".to_owned()),
            "{repairs:?}"
        );
        let now = test.fixture.schedule("every30").await?;
        assert_eq!(now.revision, before.revision);
        assert_eq!(now.history, before.history);
    }
    assert_eq!(test.fixture.schedule("buffered").await?, record);
    Ok(())
}
