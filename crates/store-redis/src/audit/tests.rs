//! The bounds of single pages, and cursors, seen from inside.

use windlass_core::{ClaimRequest, NewJob, Owner, Store, Target};
use windlass_testkit::fixture::{boot, lease_of, named, numbered, queue, secs};
use windlass_testkit::redis::Server;

use super::*;
use crate::open::{Options, RedisStore};
use crate::partition::number;

/// A page looks at no more than this: Redis shows a hash of up to 512 small fields all at once,
/// whatever page is asked for.
const PAGE_MAX: u64 = 512;

/// A queue with a few thousand of everything.
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
    store.promote(&name, &target, None).await?;
    store.cancel(&name, &target, None).await?;
    Ok((server, store))
}

#[tokio::test]
async fn no_page_looks_at_more_than_a_bounded_number_of_ids() -> Result<()> {
    let (_server, store) = large().await?;
    let part = store.queue(&queue("q")).first();
    let scripts = part.scripts();
    let mut looked = 0;
    for stage in &STAGES {
        let mut position = 0;
        loop {
            let page = part.audit_walk(stage, position).await?;
            assert!(page.looked <= PAGE_MAX, "{}: {}", stage.name, page.looked);
            assert_eq!(page.repairs, [], "{}", stage.name);
            looked += page.looked;
            match page.next.parse() {
                Ok(next) => position = next,
                Err(_) => break,
            }
        }
    }
    assert!(looked > 10_000, "{looked} members in all");

    let zero = number(0);
    let mut count = vec![zero.clone(), words("")];
    count.resize(17, zero.clone());
    let pages = [
        (&scripts.audit_ready_list, vec![number(5), words("")]),
        (&scripts.audit_count, count),
        (&scripts.audit_stale, vec![zero.clone(), words(""), zero]),
    ];
    for (script, args) in pages {
        let page = part.audit_page(script, args).await?;
        assert!(
            (1..=PAGE_MAX).contains(&page.looked),
            "{}: {}",
            script.name,
            page.looked
        );
    }
    assert_eq!(part.audit_look().await?, (vec![], false));
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
    let part = store.queue(&name).first();

    let page = part.audit_page(&part.scripts().audit_jobs, vec![number(0)]);

    let looked = page.await?.looked;
    assert!((1..=16).contains(&looked), "{looked}");
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
    let steps = (0..STAGES.len()).map(|walk| Step::Walk(walk, 77));
    for step in steps.chain([Step::Start, Step::Look]) {
        let place = Place { part: 3, step };
        assert_eq!(Place::read(Some(&place.write())).unwrap(), place);
    }
    assert_eq!(Place::read(None).unwrap(), Place::FIRST);
}

#[test]
fn every_stage_is_followed_by_another_and_the_last_by_the_look() {
    let mut place = Place::FIRST;
    for walk in 0..STAGES.len() {
        place.step = place.behind();
        assert_eq!(place.step, Step::Walk(walk, 0));
    }
    place.step = place.behind();
    assert_eq!(place.step, Step::Look);
}
