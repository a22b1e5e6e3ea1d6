//! Queues: stats, settings and listings.

use std::collections::BTreeSet;

use windlass_core::store::{Kind, NewWorker, Retry, Settings};
use windlass_core::{Due, Filter, JobState, Priority, Result};

use crate::fixture::{Fixture, boot, lease_of, ms, named, numbered, queue, secs};
use crate::soundness;

/// Fills the queue with jobs in every state.
async fn fill_every_state(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(40)).await?;
    for level in 0..10 {
        let job = named(&format!("p{level}")).priority(Priority::new(level)?);
        fixture
            .enqueue(job.unique_key(format!("key {level}").parse()?))
            .await?;
    }
    let worker = boot("worker");
    let claim = fixture.take_as(&worker, 1, 20).await?;
    fixture.complete_with(&claim, "result").await?;
    fixture.complete(lease_of(&claim, 1)).await?;
    fixture.fail(lease_of(&claim, 2), Retry::Permanent).await?;
    fixture
        .fail(lease_of(&claim, 3), Retry::At(Due::After(secs(100))))
        .await?;
    fixture.release(lease_of(&claim, 4)).await?;
    fixture
        .snooze(lease_of(&claim, 5), Due::After(secs(100)))
        .await?;
    fixture.cancel("j007").await?;
    fixture.cancel("j039").await?;
    fixture
        .enqueue(named("later").delay(secs(10)).expires(Due::After(secs(5))))
        .await?;
    fixture.advance(secs(6));
    fixture.take(3).await?;
    fixture.advance(secs(25));
    fixture.maintain().await?;
    fixture.take(2).await?;
    Ok(())
}

pub async fn the_counters_equal_a_recount(fixture: &Fixture) -> Result<()> {
    fill_every_state(fixture).await?;

    let dump = fixture.snapshot().await?;

    assert_eq!(dump.stats, soundness::recount(&dump));
    let mut stats = fixture
        .store
        .stats(&fixture.queue)
        .await?
        .unwrap_or_default();
    // An index of the store, not the state of the queue, has stale entries.
    stats.stale_entries = 0;
    assert_eq!(stats, dump.stats);
    Ok(())
}

pub async fn totals_count_since_the_queue_was_created(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["good", "bad", "stopped", "lost"]).await?;
    fixture.enqueue(named("good")).await?;
    let claim = fixture.take(2).await?;
    fixture.complete(&claim).await?;
    fixture.fail(lease_of(&claim, 1), Retry::Permanent).await?;
    fixture.cancel("stopped").await?;
    fixture.take(1).await?;
    fixture.outlast_lease();
    fixture.maintain().await?;
    fixture.delete("bad").await?;

    let total = fixture.snapshot().await?.stats.total;

    assert_eq!((total.enqueued, total.succeeded, total.dead), (4, 1, 1));
    assert_eq!((total.cancelled, total.rescued), (1, 1));
    Ok(())
}

pub async fn the_last_minute_slides(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a", "b", "c"]).await?;
    let claim = fixture.take(1).await?;
    fixture.complete(&claim).await?;
    fixture.cancel("b").await?;
    let rates = fixture.snapshot().await?.stats.last_minute;
    assert_eq!((rates.enqueued, rates.finished), (3, 2));

    // Half of the minute before is within the last 60 seconds.
    fixture.advance(secs(90));
    let rates = fixture.snapshot().await?.stats.last_minute;
    assert_eq!((rates.enqueued, rates.finished), (2, 1));

    fixture.advance(secs(30));
    let rates = fixture.snapshot().await?.stats.last_minute;
    assert_eq!((rates.enqueued, rates.finished), (0, 0));
    Ok(())
}

pub async fn the_oldest_waiting_job_is_known(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.advance(secs(3));
    fixture.enqueue_at(0, "b").await?;
    fixture.advance(secs(4));
    assert_eq!(fixture.snapshot().await?.stats.oldest_ms, Some(7000));

    fixture.next(1).await?;
    assert_eq!(fixture.snapshot().await?.stats.oldest_ms, Some(7000));
    fixture.next(1).await?;
    assert_eq!(fixture.snapshot().await?.stats.oldest_ms, None);
    Ok(())
}

pub async fn a_pause_is_shown(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture.store.set_paused(&fixture.queue, true).await?;
    assert!(fixture.snapshot().await?.stats.is_paused);

    fixture.store.set_paused(&fixture.queue, false).await?;
    assert!(!fixture.snapshot().await?.stats.is_paused);
    Ok(())
}

pub async fn a_queue_may_be_paused_before_its_first_job(fixture: &Fixture) -> Result<()> {
    fixture.store.set_paused(&fixture.queue, true).await?;
    fixture.fill(&["a"]).await?;

    assert_eq!(fixture.claim(1).await?, None);
    Ok(())
}

pub async fn settings_have_their_defaults_until_they_are_changed(fixture: &Fixture) -> Result<()> {
    assert_eq!(
        fixture.store.settings(&fixture.queue).await?,
        Settings::default()
    );
    assert_eq!(
        fixture.dump().await?,
        None,
        "reading does not create the queue"
    );

    let mut expected = Settings::default();
    for text in [
        "dedup_for=5s",
        "requeue=back",
        "dead_count=all",
        "succeeded_age=2h",
    ] {
        expected.apply(&text.parse()?)?;
    }
    let changes = expected.all();
    assert_eq!(fixture.store.set(&fixture.queue, changes).await?, expected);

    assert_eq!(fixture.store.settings(&fixture.queue).await?, expected);
    assert_eq!(fixture.snapshot().await?.settings, expected);
    Ok(())
}

pub async fn a_changed_setting_leaves_the_others(fixture: &Fixture) -> Result<()> {
    fixture.set("poison_after=7").await?;
    fixture.set("dedup_max=9").await?;

    let settings = fixture.store.settings(&fixture.queue).await?;

    assert_eq!((settings.poison_after, settings.dedup_max), (7, 9));
    assert_eq!(settings.dead, Settings::default().dead);
    Ok(())
}

pub async fn a_queue_begins_with_its_first_job(fixture: &Fixture) -> Result<()> {
    let names = ["b", "a", "c"].map(|end| queue(&format!("{}.{end}", fixture.queue)));
    assert_eq!(fixture.store.stats(&names[0]).await?, None);

    for name in &names {
        fixture.store.enqueue(name, vec![named("x")]).await?;
    }

    let listed = fixture.store.queues().await?;
    assert!(listed.is_sorted());
    assert!(names.iter().all(|name| listed.contains(name)), "{listed:?}");
    Ok(())
}

pub async fn a_queue_begins_with_its_first_worker(fixture: &Fixture) -> Result<()> {
    let worker = NewWorker {
        boot: boot("one"),
        name: "one".to_owned(),
        host: "here".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        queues: vec![fixture.queue.clone()],
    };

    fixture.store.register(worker).await?;

    assert!(fixture.store.queues().await?.contains(&fixture.queue));
    Ok(())
}

pub async fn pages_show_each_job_once(fixture: &Fixture) -> Result<()> {
    fill_every_state(fixture).await?;
    let all: BTreeSet<_> = fixture
        .snapshot()
        .await?
        .jobs
        .into_iter()
        .map(|job| job.id)
        .collect();

    for limit in [1, 7, 1000] {
        let listed = fixture.list(&Filter::default(), limit).await?;
        let ids: BTreeSet<_> = listed.iter().map(|job| job.id.clone()).collect();
        assert_eq!(listed.len(), ids.len(), "each once");
        assert_eq!(ids, all);
    }
    Ok(())
}

pub async fn a_job_that_stays_put_is_seen_while_others_move(fixture: &Fixture) -> Result<()> {
    fixture.enqueue_all(numbered(30)).await?;
    let filter = Filter {
        state: Some(JobState::Ready),
        ..Filter::default()
    };
    let mut seen = Vec::new();
    let mut from = None;
    loop {
        let page = fixture.store.list(&fixture.queue, &filter, from, 5).await?;
        seen.extend(page.items.into_iter().map(|job| job.id.to_string()));
        fixture.next(1).await?;
        from = page.next;
        if from.is_none() {
            break;
        }
    }

    for waiting in fixture.ready().await? {
        assert_eq!(
            seen.iter().filter(|id| **id == waiting).count(),
            1,
            "{waiting}"
        );
    }
    Ok(())
}

pub async fn a_listing_is_filtered_by_state_and_kind(fixture: &Fixture) -> Result<()> {
    let mail = Kind::new("mail")?;
    fixture
        .enqueue(named("running mail").kind(mail.clone()))
        .await?;
    fixture.take(1).await?;
    fixture.enqueue(named("mail").kind(mail.clone())).await?;
    fixture.fill(&["plain"]).await?;
    fixture
        .enqueue(named("later").delay(secs(5)).kind(mail.clone()))
        .await?;

    let listed = |state: Option<JobState>, kind: Option<&Kind>| {
        let filter = Filter {
            state,
            kind: kind.cloned(),
            ..Filter::default()
        };
        async move {
            let jobs = fixture.list(&filter, 2).await?;
            let ids: BTreeSet<_> = jobs.iter().map(|job| job.id.to_string()).collect();
            Ok::<Vec<_>, windlass_core::Error>(ids.into_iter().collect())
        }
    };

    assert_eq!(listed(Some(JobState::Ready), Some(&mail)).await?, ["mail"]);
    assert_eq!(
        listed(Some(JobState::Ready), None).await?,
        ["mail", "plain"]
    );
    assert_eq!(
        listed(None, Some(&mail)).await?,
        ["later", "mail", "running mail"]
    );
    assert_eq!(
        listed(Some(JobState::Dead), None).await?,
        Vec::<String>::new()
    );
    Ok(())
}

pub async fn jobs_of_one_time_are_paged_by_the_bytes_of_their_ids(fixture: &Fixture) -> Result<()> {
    let names = [
        "A", "B", "Zeta", "_", "a", "b", "b-c", "ba", "zeta", "Ä", "ä",
    ];
    let due = names.iter().rev().map(|name| named(name).delay(secs(60)));
    fixture.enqueue_all(due.collect()).await?;
    let filter = Filter {
        state: Some(JobState::Scheduled),
        ..Filter::default()
    };

    for limit in 1..names.len() {
        let listed = fixture.list(&filter, limit).await?;
        let listed: Vec<_> = listed.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(listed, names, "pages of {limit}");
    }
    Ok(())
}

pub async fn a_listing_leaves_out_payloads_and_results(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    fixture
        .complete_with(&fixture.take(1).await?, "result")
        .await?;

    let mut expected = fixture.job("a").await?;
    assert!(expected.payload.is_some() && expected.result.is_some());
    let listed = fixture.list(&Filter::default(), 10).await?;

    (expected.payload, expected.result) = (None, None);
    assert_eq!(listed, [expected]);
    Ok(())
}

pub async fn reads_return_what_the_dump_shows(fixture: &Fixture) -> Result<()> {
    fill_every_state(fixture).await?;
    fixture.advance(ms(1));

    for mut job in fixture.snapshot().await?.jobs {
        let read = fixture.job(job.id.as_str()).await?;
        // Of the claim, not of the job.
        assert_eq!(read.lease_until.is_some(), job.state == JobState::Running);
        job.lease_until = read.lease_until;
        assert_eq!(read, job);
    }
    Ok(())
}
