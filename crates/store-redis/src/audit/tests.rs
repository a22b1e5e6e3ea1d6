//! Bounds of single pages, and cursors.

use windlass_core::store::Owner;
use windlass_core::{Change, ClaimRequest, NewJob, Store, Target};
use windlass_testkit::fixture::{boot, grouped, lease_of, named, numbered, queue, secs};
use windlass_testkit::redis::Server;

use super::*;
use crate::open::{Options, RedisStore};
use crate::partition::number_arg;

/// Maximum number of members of a page. Whatever COUNT is, HSCAN returns a hash of up to 512 small fields at
/// once, and of a larger one whole buckets: with Valkey of seven fields and more, here claims of 60 jobs.
const PAGE_MAX: u64 = 1000;

/// A queue with thousands of jobs in every state.
async fn large() -> Result<(Server, RedisStore)> {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await?;
    let name = queue("q");
    store.enqueue(&name, numbered(900)).await?;
    let jobs = (0..2500).map(|n| NewJob::new(format!("{n}")));
    store.enqueue(&name, jobs.collect()).await?;
    let later = (0..900).map(|n| {
        let job = named(&format!("later{n}")).delay(secs(600));
        let key = format!("key{n}").parse().expect("it is a key");
        job.unique_key(key)
            .expires(windlass_core::Due::After(secs(900)))
    });
    store.enqueue(&name, later.collect()).await?;
    for seq in 1..=30 {
        let request = match seq % 2 {
            0 => ClaimRequest::single(60),
            _ => ClaimRequest::worker(boot("one"), seq, 60),
        };
        let claim = store.claim(&name, request).await?.expect("jobs are ready");
        let completed = (0..20).map(|at| lease_of(&claim, at).completion().result("done"));
        store.complete(&name, completed.collect(), None).await?;
        let released = (20..40).map(|at| lease_of(&claim, at));
        store.release(&name, released.collect()).await?;
    }
    let ids = (0..600).map(|n| windlass_core::JobId::new(format!("later{n}")));
    let target = Target::Ids(ids.collect::<Result<_>>()?);
    store.change(&name, Change::Promote, &target, None).await?;
    store.change(&name, Change::Cancel, &target, None).await?;
    Ok((server, store))
}

#[tokio::test]
async fn a_page_scans_a_bounded_number_of_ids() -> Result<()> {
    let (_server, store) = large().await?;
    let partition = store.queue(&queue("q")).first();
    let scripts = partition.scripts();
    let mut scanned = 0;
    for stage in &STAGES {
        let mut position = 0;
        loop {
            let page = partition.audit_stage(stage, position).await?;
            assert!(page.scanned <= PAGE_MAX, "{}: {}", stage.name, page.scanned);
            assert_eq!(page.repairs, [], "{}", stage.name);
            scanned += page.scanned;
            match page.next.parse() {
                Ok(next) => position = next,
                Err(_) => break,
            }
        }
    }
    assert!(scanned > 10_000, "{scanned} members in all");

    let zero = number_arg(0);
    let mut count = vec![zero.clone(), text_arg("")];
    count.resize(28, zero.clone());
    let pages = [
        (&scripts.audit_ready_list, vec![number_arg(5), text_arg("")]),
        (&scripts.audit_count, count),
        (&scripts.audit_stale, vec![zero.clone(), text_arg(""), zero]),
    ];
    for (script, args) in pages {
        let page = partition.audit_page(script, args).await?;
        assert!(
            (1..=PAGE_MAX).contains(&page.scanned),
            "{}: {}",
            script.name,
            page.scanned
        );
    }
    assert_eq!(partition.audit_ready_lists().await?, (vec![], false));
    Ok(())
}

#[tokio::test]
async fn a_count_notices_that_a_job_of_a_group_moved() -> Result<()> {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await?;
    let name = queue("q");
    store.enqueue(&name, vec![grouped("a1")]).await?;
    let claim = store.claim(&name, ClaimRequest::single(1)).await?;
    let claim = claim.expect("a job is ready");
    let partition = store.queue(&name).first();
    let count = |first: bytes::Bytes| {
        let mut args = vec![number_arg(0), first];
        args.resize(28, number_arg(0));
        partition.audit_page(&partition.scripts().audit_count, args)
    };
    let first = count(text_arg("")).await?.rest.bytes()?;
    assert_eq!(count(first.clone()).await?.rest.bytes()?, first);

    store.release(&name, vec![lease_of(&claim, 0)]).await?;

    assert_eq!(count(first).await?.rest.text()?, "moved");
    Ok(())
}

#[tokio::test]
async fn large_payloads_make_smaller_pages() -> Result<()> {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await?;
    let name = queue("q");
    for _ in 0..4 {
        let jobs = (0..12).map(|_| NewJob::new(vec![b'x'; 1_000_000]));
        store.enqueue(&name, jobs.collect()).await?;
    }
    let partition = store.queue(&name).first();

    let page = partition.audit_page(&partition.scripts().audit_jobs, vec![number_arg(0)]);

    let scanned = page.await?.scanned;
    assert!((1..=16).contains(&scanned), "{scanned}");
    Ok(())
}

#[tokio::test]
async fn a_lease_of_a_worker_without_claims_is_left_alone() -> Result<()> {
    let server = Server::start();
    let store = RedisStore::open(&server.url(), Options::default()).await?;
    let name = queue("q");
    store.enqueue(&name, vec![named("a")]).await?;
    let request = ClaimRequest::worker(boot("one"), 1, 1);
    let claim = store.claim(&name, request).await?.expect("a job is ready");
    let done = vec![lease_of(&claim, 0).completion()];
    store.complete(&name, done, None).await?;

    let mut from = None;
    loop {
        let page = store.audit(&name, from).await?;
        assert_eq!(page.repairs, []);
        from = page.next;
        if from.is_none() {
            break;
        }
    }

    let owner = Owner::boot(&boot("one"));
    let lease = server.command(&["ZSCORE", "windlass:{q}:leases", owner.as_str()]);
    assert!(lease.text().parse::<u64>().is_ok());
    Ok(())
}

#[test]
fn a_cursor_is_read_back_as_it_was_written() {
    let scans = (0..STAGES.len()).map(|stage| Phase::Scan(stage, 77));
    for phase in scans.chain([Phase::Start, Phase::ReadyLists]) {
        let cursor = AuditCursor {
            partition: 3,
            phase,
        };
        assert_eq!(AuditCursor::read(Some(&cursor.write())).unwrap(), cursor);
    }
    assert_eq!(AuditCursor::read(None).unwrap(), AuditCursor::FIRST);
}

#[test]
fn every_stage_is_followed_by_another_and_the_last_by_the_ready_lists() {
    let mut cursor = AuditCursor::FIRST;
    for stage in 0..STAGES.len() {
        cursor.phase = cursor.next_phase();
        assert_eq!(cursor.phase, Phase::Scan(stage, 0));
    }
    cursor.phase = cursor.next_phase();
    assert_eq!(cursor.phase, Phase::ReadyLists);
}
