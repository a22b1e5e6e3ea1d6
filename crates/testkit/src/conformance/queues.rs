//! Queues: their figures, their settings, and the pages in which their jobs are listed.

use std::collections::BTreeSet;

use windlass_core::{Due, Filter, JobState, Kind, NewWorker, Priority, Result, Retry, Settings};

use crate::bench::{Bench, boot, hold, ms, named, numbered, queue, secs};
use crate::soundness;

/// A queue in which something of everything has happened.
async fn lively(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(40)).await?;
    for level in 0..10 {
        let job = named(&format!("p{level}")).priority(Priority::new(level)?);
        bench
            .enqueue(job.unique_key(format!("key {level}").parse()?))
            .await?;
    }
    let worker = boot("worker");
    let claim = bench.take_as(&worker, 1, 20).await?;
    bench.complete_with(hold(&claim, 0), "result").await?;
    bench.complete(hold(&claim, 1)).await?;
    bench.fail(hold(&claim, 2), Retry::Permanent).await?;
    bench
        .fail(hold(&claim, 3), Retry::At(Due::After(secs(100))))
        .await?;
    bench.release(hold(&claim, 4)).await?;
    bench.snooze(hold(&claim, 5), Due::After(secs(100))).await?;
    bench.cancel("j007").await?;
    bench.cancel("j039").await?;
    bench
        .enqueue(named("later").delay(secs(10)).expires(Due::After(secs(5))))
        .await?;
    bench.advance(secs(6));
    bench.take(3).await?;
    bench.advance(secs(25));
    bench.maintain().await?;
    bench.take(2).await?;
    Ok(())
}

pub async fn the_counters_equal_a_recount(bench: &Bench) -> Result<()> {
    lively(bench).await?;

    let dump = bench.whole().await?;

    assert_eq!(dump.stats, soundness::recount(&dump));
    assert_eq!(bench.store.stats(&bench.queue).await?, Some(dump.stats));
    Ok(())
}

pub async fn totals_count_the_whole_life_of_a_queue(bench: &Bench) -> Result<()> {
    bench.fill(&["good", "bad", "stopped", "lost"]).await?;
    bench.enqueue(named("good")).await?;
    let claim = bench.take(2).await?;
    bench.complete(hold(&claim, 0)).await?;
    bench.fail(hold(&claim, 1), Retry::Permanent).await?;
    bench.cancel("stopped").await?;
    bench.take(1).await?;
    bench.outlast_lease();
    bench.maintain().await?;
    bench.delete("bad").await?;

    let total = bench.whole().await?.stats.total;

    assert_eq!((total.enqueued, total.succeeded, total.dead), (4, 1, 1));
    assert_eq!((total.cancelled, total.rescued), (1, 1));
    Ok(())
}

pub async fn the_last_minute_is_counted_when_it_is_over(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c"]).await?;
    let claim = bench.take(1).await?;
    bench.complete(hold(&claim, 0)).await?;
    bench.cancel("b").await?;
    assert_eq!(bench.whole().await?.stats.last_minute.enqueued, 0);

    bench.advance(secs(60));
    let rates = bench.whole().await?.stats.last_minute;
    assert_eq!((rates.enqueued, rates.finished), (3, 2));

    bench.advance(secs(60));
    let rates = bench.whole().await?.stats.last_minute;
    assert_eq!((rates.enqueued, rates.finished), (0, 0));
    Ok(())
}

pub async fn the_oldest_waiting_job_is_known(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.advance(secs(3));
    bench
        .enqueue(named("b").priority(Priority::new(0)?))
        .await?;
    bench.advance(secs(4));
    assert_eq!(bench.whole().await?.stats.oldest_ms, Some(7000));

    bench.next(1).await?;
    assert_eq!(bench.whole().await?.stats.oldest_ms, Some(7000));
    bench.next(1).await?;
    assert_eq!(bench.whole().await?.stats.oldest_ms, None);
    Ok(())
}

pub async fn a_pause_is_shown(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench.store.pause(&bench.queue).await?;
    assert!(bench.whole().await?.stats.is_paused);

    bench.store.resume(&bench.queue).await?;
    assert!(!bench.whole().await?.stats.is_paused);
    Ok(())
}

pub async fn a_queue_may_be_paused_before_its_first_job(bench: &Bench) -> Result<()> {
    bench.store.pause(&bench.queue).await?;
    bench.fill(&["a"]).await?;

    assert_eq!(bench.claim(1).await?, None);
    Ok(())
}

pub async fn settings_have_their_defaults_until_they_are_changed(bench: &Bench) -> Result<()> {
    assert_eq!(
        bench.store.settings(&bench.queue).await?,
        Settings::default()
    );
    assert_eq!(bench.dump().await?, None, "asking makes no queue");

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
    assert_eq!(bench.store.set(&bench.queue, changes).await?, expected);

    assert_eq!(bench.store.settings(&bench.queue).await?, expected);
    assert_eq!(bench.whole().await?.settings, expected);
    Ok(())
}

pub async fn a_changed_setting_leaves_the_others(bench: &Bench) -> Result<()> {
    bench.set("poison_after=7").await?;
    bench.set("dedup_max=9").await?;

    let settings = bench.store.settings(&bench.queue).await?;

    assert_eq!((settings.poison_after, settings.dedup_max), (7, 9));
    assert_eq!(settings.dead, Settings::default().dead);
    Ok(())
}

pub async fn a_queue_begins_with_its_first_job(bench: &Bench) -> Result<()> {
    let names = ["b", "a", "c"].map(|end| queue(&format!("{}.{end}", bench.queue)));
    assert_eq!(bench.store.stats(&names[0]).await?, None);

    for name in &names {
        bench.store.enqueue(name, vec![named("x")]).await?;
    }

    let listed = bench.store.queues().await?;
    assert!(listed.is_sorted());
    assert!(names.iter().all(|name| listed.contains(name)), "{listed:?}");
    Ok(())
}

pub async fn a_queue_begins_with_its_first_worker(bench: &Bench) -> Result<()> {
    let worker = NewWorker {
        boot: boot("one"),
        name: "one".to_owned(),
        host: "here".to_owned(),
        pid: 1,
        version: "0".to_owned(),
        queues: vec![bench.queue.clone()],
    };

    bench.store.register(worker).await?;

    assert!(bench.store.queues().await?.contains(&bench.queue));
    Ok(())
}

pub async fn pages_show_each_job_once(bench: &Bench) -> Result<()> {
    lively(bench).await?;
    let all: BTreeSet<_> = bench
        .whole()
        .await?
        .jobs
        .into_iter()
        .map(|job| job.id)
        .collect();

    for limit in [1, 7, 1000] {
        let listed = bench.list(&Filter::default(), limit).await?;
        let ids: BTreeSet<_> = listed.iter().map(|job| job.id.clone()).collect();
        assert_eq!(listed.len(), ids.len(), "each once");
        assert_eq!(ids, all);
    }
    Ok(())
}

pub async fn a_job_that_stays_put_is_seen_while_others_move(bench: &Bench) -> Result<()> {
    bench.enqueue_all(numbered(30)).await?;
    let filter = Filter {
        state: Some(JobState::Ready),
        kind: None,
    };
    let mut seen = Vec::new();
    let mut from = None;
    loop {
        let page = bench.store.list(&bench.queue, &filter, from, 5).await?;
        seen.extend(page.items.into_iter().map(|job| job.id.to_string()));
        bench.next(1).await?;
        from = page.next;
        if from.is_none() {
            break;
        }
    }

    for waiting in bench.ready().await? {
        assert_eq!(
            seen.iter().filter(|id| **id == waiting).count(),
            1,
            "{waiting}"
        );
    }
    Ok(())
}

pub async fn a_listing_is_filtered_by_state_and_kind(bench: &Bench) -> Result<()> {
    let mail = Kind::new("mail")?;
    bench
        .enqueue(named("running mail").kind(mail.clone()))
        .await?;
    bench.take(1).await?;
    bench.enqueue(named("mail").kind(mail.clone())).await?;
    bench.fill(&["plain"]).await?;
    bench
        .enqueue(named("later").delay(secs(5)).kind(mail.clone()))
        .await?;

    let listed = |state: Option<JobState>, kind: Option<&Kind>| {
        let filter = Filter {
            state,
            kind: kind.cloned(),
        };
        async move {
            let jobs = bench.list(&filter, 2).await?;
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

pub async fn jobs_of_one_time_are_paged_by_the_bytes_of_their_ids(bench: &Bench) -> Result<()> {
    let names = [
        "A", "B", "Zeta", "_", "a", "b", "b-c", "ba", "zeta", "Ä", "ä",
    ];
    let due = names.iter().rev().map(|name| named(name).delay(secs(60)));
    bench.enqueue_all(due.collect()).await?;
    let filter = Filter {
        state: Some(JobState::Scheduled),
        ..Filter::default()
    };

    for limit in 1..names.len() {
        let listed = bench.list(&filter, limit).await?;
        let listed: Vec<_> = listed.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(listed, names, "pages of {limit}");
    }
    Ok(())
}

pub async fn a_listing_leaves_out_payloads_and_results(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    bench
        .complete_with(hold(&bench.take(1).await?, 0), "result")
        .await?;

    let mut expected = bench.job("a").await?;
    assert!(expected.payload.is_some() && expected.result.is_some());
    let listed = bench.list(&Filter::default(), 10).await?;

    (expected.payload, expected.result) = (None, None);
    assert_eq!(listed, [expected]);
    Ok(())
}

pub async fn what_is_asked_for_is_what_the_dump_shows(bench: &Bench) -> Result<()> {
    lively(bench).await?;
    bench.advance(ms(1));

    for job in bench.whole().await?.jobs {
        assert_eq!(bench.get(job.id.as_str()).await?, Some(job));
    }
    Ok(())
}
