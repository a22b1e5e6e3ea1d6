//! Filters: which jobs match, and how much one call examines.

use std::collections::BTreeSet;

use windlass_core::limits::{SEARCH_BYTES_MAX, SEARCH_JOBS_MAX};
use windlass_core::store::{Changed, Headers, Kind, Retry};
use windlass_core::{
    Change, Due, ErrorKind, Filter, JobState, NewJob, Result, RetryPolicy, Target, error_group,
};

use crate::fixture::{Fixture, boot, grouped, id, lease_of, named, numbered, secs};

/// The ids of all jobs that match, in pages of several sizes; each must be listed once.
async fn found(fixture: &Fixture, filter: &Filter) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for limit in [1, 2, 500] {
        let jobs = fixture.list(filter, limit).await?;
        let ids: BTreeSet<_> = jobs.iter().map(|job| job.id.to_string()).collect();
        assert_eq!(ids.len(), jobs.len(), "each once, in pages of {limit}");
        assert!(jobs.iter().all(|job| job.payload.is_none()), "no payloads");
        found.push(ids);
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    Ok(found.remove(0).into_iter().collect())
}

fn with_text(text: &str) -> Filter {
    Filter {
        text: Some(text.to_owned()),
        ..Filter::default()
    }
}

fn with_payload(name: &str, payload: &'static [u8]) -> NewJob {
    NewJob::new(payload).id(id(name))
}

pub async fn a_text_is_found_in_id_payload_and_error(fixture: &Fixture) -> Result<()> {
    let lost = with_payload("broken", b"letter").retry(RetryPolicy::default().max_attempts(1));
    fixture.enqueue(lost).await?;
    let lease = lease_of(&fixture.take(1).await?, 0);
    let failures = vec![lease.failure("no stamp on it")];
    fixture.store.fail(&fixture.queue, failures).await?;
    fixture.enqueue(with_payload("stamp-1", b"a")).await?;
    fixture.enqueue(with_payload("b", b"two stamps")).await?;
    fixture.enqueue(with_payload("c", b"Stamp")).await?;

    assert_eq!(
        found(fixture, &with_text("stamp")).await?,
        ["b", "broken", "stamp-1"]
    );
    assert_eq!(found(fixture, &with_text("no stamp")).await?, ["broken"]);
    assert!(found(fixture, &with_text("letters")).await?.is_empty());
    Ok(())
}

pub async fn a_text_matches_bytes_literally(fixture: &Fixture) -> Result<()> {
    let large: Vec<u8> = [&vec![b'x'; 5_000][..], b"\xffneedle%"].concat();
    for (name, payload) in [
        ("percent", &b"100%"[..]),
        ("quote", b"it's \"so\""),
        ("control", b"a\x00b\n\tc"),
        ("invalid", b"\xff\xfe\xffcaf\xc3\xa9\xff"),
        ("lua", b"%d+ [a-z]* ^$"),
        ("large", &large),
    ] {
        let job = NewJob::new(payload.to_vec()).id(id(name));
        fixture.enqueue(job).await?;
    }

    for (text, expected) in [
        ("0%", &["percent"][..]),
        ("%", &["large", "lua", "percent"]),
        ("_", &[]),
        ("'s \"", &["quote"]),
        ("a\0b\n\t", &["control"]),
        ("café", &["invalid"]),
        ("%d+ [", &["lua"]),
        ("needle%", &["large"]),
    ] {
        assert_eq!(
            found(fixture, &with_text(text)).await?,
            expected,
            "{text:?}"
        );
    }
    Ok(())
}

pub async fn a_text_that_is_too_long_is_refused(fixture: &Fixture) -> Result<()> {
    fixture.fill(&["a"]).await?;
    let filter = with_text(&"a".repeat(1025));
    let (store, queue) = (&fixture.store, &fixture.queue);
    let listed = store.list(queue, &filter, None, 1).await;
    let target = Target::Filter(filter);
    let changed = store.change(queue, Change::Cancel, &target, None).await;

    assert_eq!(listed.map_err(|e| e.kind()), Err(ErrorKind::Invalid));
    assert_eq!(changed.map_err(|e| e.kind()), Err(ErrorKind::Invalid));
    Ok(())
}

pub async fn an_age_counts_from_the_enqueue(fixture: &Fixture) -> Result<()> {
    fixture.enqueue(named("old").delay(secs(600))).await?;
    fixture.advance(secs(60));
    fixture.enqueue(named("new").delay(secs(600))).await?;
    fixture.advance(secs(10));
    let older = |age| Filter {
        older_than: Some(secs(age)),
        ..Filter::default()
    };
    let newer = |age| Filter {
        newer_than: Some(secs(age)),
        ..Filter::default()
    };

    assert_eq!(found(fixture, &older(70)).await?, ["old"]);
    assert_eq!(found(fixture, &older(10)).await?, ["new", "old"]);
    assert!(found(fixture, &older(71)).await?.is_empty());
    assert_eq!(found(fixture, &newer(70)).await?, ["new"]);
    assert!(found(fixture, &newer(10)).await?.is_empty());
    Ok(())
}

pub async fn jobs_are_found_by_worker_and_attempt(fixture: &Fixture) -> Result<()> {
    let (ann, bob) = (boot("ann"), boot("bob"));
    fixture.fill(&["a", "b", "c"]).await?;
    let first = fixture.take_as(&ann, 1, 1).await?;
    fixture.take_as(&bob, 1, 1).await?;
    let again = Retry::At(Due::Now);
    fixture.fail(&first, again).await?;
    let of = |worker| Filter {
        worker: Some(worker),
        ..Filter::default()
    };
    let second = Filter {
        min_attempt: Some(2),
        ..Filter::default()
    };

    assert_eq!(found(fixture, &of(bob)).await?, ["b"]);
    assert!(found(fixture, &of(ann)).await?.is_empty());
    assert_eq!(found(fixture, &second).await?, ["a"]);
    Ok(())
}

pub async fn jobs_are_found_by_header_and_group(fixture: &Fixture) -> Result<()> {
    let tenant = |value: &str| {
        let mut headers = Headers::default();
        headers.set("Tenant", value).map(|()| headers)
    };
    fixture
        .enqueue(named("blue").headers(tenant("blue")?))
        .await?;
    fixture
        .enqueue(named("red").headers(tenant("red")?))
        .await?;
    fixture
        .enqueue(grouped("g1-x").headers(tenant("blue")?))
        .await?;
    let group = fixture.job("g1-x").await?.group;
    let by = |header: &str| {
        Ok::<_, windlass_core::Error>(Filter {
            header: Some(header.parse()?),
            ..Filter::default()
        })
    };

    assert_eq!(
        found(fixture, &by("tenant")?).await?,
        ["blue", "g1-x", "red"]
    );
    assert_eq!(found(fixture, &by("TENANT=blue")?).await?, ["blue", "g1-x"]);
    assert!(found(fixture, &by("tenant=b")?).await?.is_empty());
    let both = Filter {
        group,
        ..by("tenant=blue")?
    };
    assert_eq!(found(fixture, &both).await?, ["g1-x"]);
    Ok(())
}

pub async fn jobs_are_found_by_the_group_of_their_error(fixture: &Fixture) -> Result<()> {
    let mail = Kind::new("mail")?;
    for (name, kind, error) in [
        ("a", Some(&mail), "user 7 is gone"),
        ("b", Some(&mail), "user 8 is gone"),
        ("c", None, "user 9 is gone"),
        ("d", Some(&mail), "no stamp"),
    ] {
        let mut job = named(name);
        job.kind = kind.cloned();
        fixture.enqueue(job).await?;
        let lease = lease_of(&fixture.take(1).await?, 0);
        let mut failure = lease.failure(error);
        failure.retry = Retry::Permanent;
        fixture.store.fail(&fixture.queue, vec![failure]).await?;
    }
    let print = error_group::Fingerprint::of(Some(&mail), "user 1 is gone");
    let filter = Filter {
        state: Some(JobState::Dead),
        error_group: Some(print),
        ..Filter::default()
    };

    assert_eq!(found(fixture, &filter).await?, ["a", "b"]);
    Ok(())
}

pub async fn all_conditions_of_a_filter_must_hold(fixture: &Fixture) -> Result<()> {
    let mail = Kind::new("mail")?;
    fixture
        .enqueue(named("old-mail").kind(mail.clone()))
        .await?;
    fixture.enqueue(named("old-plain")).await?;
    fixture.advance(secs(60));
    fixture
        .enqueue(named("new-mail").kind(mail.clone()))
        .await?;
    fixture
        .enqueue(named("old-later").kind(mail.clone()).delay(secs(60)))
        .await?;
    let filter = Filter {
        state: Some(JobState::Ready),
        kind: Some(mail),
        ..with_text("old")
    };

    assert_eq!(found(fixture, &filter).await?, ["old-mail"]);
    let newer = Filter {
        newer_than: Some(secs(60)),
        ..filter
    };
    assert!(found(fixture, &newer).await?.is_empty());
    Ok(())
}

pub async fn a_search_examines_a_bounded_number_of_jobs_per_call(fixture: &Fixture) -> Result<()> {
    let count = 2 * SEARCH_JOBS_MAX + 100;
    for batch in numbered(count).chunks(1000) {
        fixture.enqueue_all(batch.to_vec()).await?;
    }
    fixture.enqueue(named("needle")).await?;
    for state in [Some(JobState::Ready), None] {
        let filter = Filter {
            state,
            ..with_text("needle")
        };
        let (mut scanned, mut found, mut calls, mut from) = (0, Vec::new(), 0, None);
        loop {
            let page = fixture.store.list(&fixture.queue, &filter, from, 1).await?;
            assert!(
                page.scanned <= SEARCH_JOBS_MAX,
                "{} jobs in one call",
                page.scanned
            );
            scanned += page.scanned;
            calls += 1;
            found.extend(page.items.into_iter().map(|job| job.id.to_string()));
            from = page.next;
            if from.is_none() {
                break;
            }
        }

        assert_eq!(found, ["needle"]);
        assert_eq!(scanned, count + 1, "every job is examined once");
        assert!(calls >= 3, "{calls} calls");
    }
    Ok(())
}

pub async fn a_search_for_text_reads_bounded_payloads_per_call(fixture: &Fixture) -> Result<()> {
    let bytes = 512 * 1024;
    for n in 0..20 {
        let job = NewJob::new(vec![b'x'; bytes]).id(id(&format!("{n:02}")));
        fixture.enqueue(job).await?;
    }
    let missing = with_text("y");
    let page = fixture.store.list(&fixture.queue, &missing, None, 10);
    let page = page.await?;

    assert!(page.items.is_empty() && page.next.is_some());
    // A store may read up to this size at once, and end after it.
    let scanned_max = 2 * SEARCH_BYTES_MAX / bytes;
    assert!(page.scanned <= scanned_max, "{}", page.scanned);
    assert_eq!(found(fixture, &with_text("07")).await?, ["07"]);
    Ok(())
}

pub async fn a_change_by_filter_touches_only_matching_jobs(fixture: &Fixture) -> Result<()> {
    for batch in numbered(SEARCH_JOBS_MAX).chunks(500) {
        fixture.enqueue_all(batch.to_vec()).await?;
    }
    fixture.fill(&["x-stays", "y-goes", "z-goes"]).await?;
    let target = Target::Filter(with_text("-goes"));
    let (mut changed, mut scanned, mut from) = (Vec::new(), 0, None);
    loop {
        let (store, queue) = (&fixture.store, &fixture.queue);
        let page = store.change(queue, Change::Cancel, &target, from).await?;
        scanned += page.scanned;
        for job in page.items {
            assert_eq!(job.changed, Changed::Done);
            changed.extend(job.id.map(|id| id.to_string()));
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }

    changed.sort();
    assert_eq!(changed, ["y-goes", "z-goes"]);
    assert!(scanned >= SEARCH_JOBS_MAX + 3, "{scanned} examined");
    assert_eq!(fixture.state("x-stays").await?, Some(JobState::Ready));
    assert_eq!(fixture.in_state(JobState::Cancelled).await?.len(), 2);
    Ok(())
}
