//! Claims, their records, owners and leases.

use windlass_core::{LeaseStatus, OutcomeStatus, Result};
use windlass_testkit::fixture::{boot, id, lease_of, leases_of, numbered, secs};

use crate::fixture::Site;

/// Twelve jobs: three held by a worker in two claims, two by a single claim.
async fn fill(site: &Site) -> Result<[windlass_core::Claim; 3]> {
    let bench = &site.bench;
    bench.enqueue_all(numbered(12)).await?;
    let first = bench.take_as(&boot("one"), 1, 1).await?;
    let second = bench.take_as(&boot("one"), 2, 2).await?;
    let single = bench.take(2).await?;
    Ok([first, second, single])
}

#[tokio::test]
async fn jobs_whose_claim_is_not_open_are_put_back() -> Result<()> {
    let site = Site::open().await;
    let [first, second, single] = fill(&site).await?;
    site.hand(
        "HDEL",
        "open",
        &[&second.token.to_string(), &single.token.to_string()],
    );
    site.hand(
        "ZADD",
        "stopping",
        &["0", &format!("t:{}\tj003", single.token)],
    );

    let faults = site.mend().await?;

    for name in ["j001", "j002", "j003", "j004"] {
        assert!(
            faults.contains(&format!("running_without_lease {name}")),
            "{faults:?}"
        );
    }
    // The one that was asked to stop has stopped, the others wait in front.
    assert_eq!(site.bench.ready().await?.len(), 10);
    assert_eq!(
        site.bench.complete(lease_of(&second, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        site.bench.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

#[tokio::test]
async fn holds_that_cannot_be_read_are_put_back() -> Result<()> {
    let site = Site::open().await;
    let [first, second, _] = fill(&site).await?;
    site.hand(
        "HSET",
        "running",
        &[
            "j000",
            "nonsense",
            "j001",
            &format!("{}\t5-4x", second.token),
        ],
    );

    let faults = site.mend().await?;

    assert_eq!(
        faults,
        [
            "claim_miscounted",
            "lease_unreadable j000",
            "lease_unreadable j001"
        ]
    );
    assert_eq!(
        site.bench.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        site.bench.complete(lease_of(&second, 1)).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

#[tokio::test]
async fn holds_that_do_not_fit_their_jobs_are_written_anew() -> Result<()> {
    let site = Site::open().await;
    let [first, ..] = fill(&site).await?;
    site.hand(
        "HSET",
        "running",
        &["j000", &format!("{}\t3-7", first.token)],
    );

    assert_eq!(site.mend().await?, ["lease_wrong j000"]);

    assert_eq!(
        site.bench.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    site.assert_sound().await
}

#[tokio::test]
async fn claims_that_miscount_are_counted_again() -> Result<()> {
    let site = Site::open().await;
    let [first, second, single] = fill(&site).await?;
    let set = |token: String, text: &str| site.hand("HSET", "open", &[&token, text]);
    set(first.token.to_string(), "7\t1\tb:one");
    set(second.token.to_string(), "0\t2\tb:one");
    set(single.token.to_string(), "nonsense");
    set("5-00000001".to_owned(), "3\t9\tb:two");
    set("no token".to_owned(), "1\t1\tb:one");

    assert_eq!(site.mend().await?, ["claim_miscounted", "claim_unreadable"]);

    for claim in [first, second, single] {
        let done = site.bench.complete_all(leases_of(&claim)).await?.statuses;
        assert!(
            done.iter().all(|done| *done == OutcomeStatus::Completed),
            "{done:?}"
        );
    }
    site.assert_sound().await
}

#[tokio::test]
async fn a_record_that_was_lost_is_written_from_what_is_held() -> Result<()> {
    let site = Site::open().await;
    let [first, second, single] = fill(&site).await?;
    site.hand("DEL", "claims", &[]);

    let faults = site.mend().await?;

    assert!(
        faults.contains(&"claim_unrecorded j004".to_owned()),
        "{faults:?}"
    );
    assert_eq!(
        site.bench.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    // What is in no record would never be taken back.
    site.bench.outlast_lease();
    assert_eq!(site.bench.maintain().await?.reaped, 4);
    assert_eq!(
        site.bench.complete(lease_of(&second, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        site.bench.complete(lease_of(&single, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    Ok(())
}

#[tokio::test]
async fn a_claim_without_a_lease_is_given_one() -> Result<()> {
    let site = Site::open().await;
    let [first, second, single] = fill(&site).await?;
    site.hand("DEL", "leases", &[]);

    assert_eq!(site.mend().await?, ["claim_without_lease"]);

    let renewed = site
        .bench
        .renew_as(&boot("one"), &[first.token, second.token], 2)
        .await?;
    assert_eq!((renewed.until.is_some(), renewed.lost), (true, vec![]));
    site.bench.outlast_lease();
    assert_eq!(site.bench.maintain().await?.reaped, 5);
    assert_eq!(
        site.bench.complete(lease_of(&single, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    Ok(())
}

#[tokio::test]
async fn owners_that_were_lost_are_known_again() -> Result<()> {
    let site = Site::open().await;
    let [_, second, _] = fill(&site).await?;
    site.hand("DEL", "owners", &[]);

    assert_eq!(site.mend().await?, ["owner_wrong"]);

    // The worker's latest claim is still its latest.
    let again = site.bench.take_as(&boot("one"), 2, 2).await?;
    assert_eq!(again.token, second.token);
    assert_eq!(site.bench.claim_as(&boot("one"), 1, 2).await?, None);
    Ok(())
}

#[tokio::test]
async fn leases_and_owners_of_nobody_are_dropped_and_endless_ones_end() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    site.hand(
        "ZADD",
        "leases",
        &[
            "99999999999999",
            "t:5-00000001",
            "7",
            "nonsense",
            "inf",
            "b:one",
        ],
    );
    site.hand(
        "HSET",
        "owners",
        &["b:two", "30000\t\t\t\t", "b:one", "soon"],
    );

    let faults = site.mend().await?;

    let expected = [
        "lease_endless",
        "lease_without_claim",
        "owner_without_lease",
        "owner_wrong",
    ];
    assert_eq!(faults, expected);
    site.bench.outlast_lease();
    assert_eq!(site.bench.maintain().await?.reaped, 5);
    Ok(())
}

#[tokio::test]
async fn tokens_and_holds_agree_with_open_claims() -> Result<()> {
    let site = Site::open().await;
    let [first, second, single] = fill(&site).await?;
    site.bench.release(lease_of(&second, 1)).await?;
    let [one, two, three] = [&first, &second, &single].map(|claim| claim.token.to_string());
    site.hand(
        "ZADD",
        "tokens",
        &["7", &one, "inf", "5-00000001", "7", "nonsense"],
    );
    site.hand("ZREM", "tokens", &[&two]);
    site.hand("DEL", "holds", &[]);
    site.hand(
        "ZADD",
        "holds",
        &["0", &format!("b:two\t{three}"), "0", "nonsense"],
    );
    site.hand(
        "HSET",
        "left",
        &[
            &two,
            "released j002\nlease_lost j001\nx y\n",
            "5-00000001",
            "dead a\n",
        ],
    );

    let faults = site.mend().await?;

    assert_eq!(
        faults,
        [
            "claim_history_wrong",
            "claim_unowned",
            "claim_unreadable",
            "token_wrong"
        ]
    );
    let renewed = site
        .bench
        .renew_as(&boot("one"), &[first.token, second.token], 2)
        .await?;
    assert_eq!(renewed.lost, []);
    assert_eq!(
        site.bench.release(lease_of(&second, 1)).await?,
        OutcomeStatus::Released
    );
    Ok(())
}

#[tokio::test]
async fn requests_to_stop_that_reach_nobody_are_dropped() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    site.bench.cancel("j000").await?;
    site.hand(
        "ZADD",
        "stopping",
        &["0", "b:one\tj009", "0", "b:two\tj001"],
    );
    site.hand("HSET", "progress", &["j009", "0.5\t7"]);

    assert_eq!(site.mend().await?, ["leftover j001", "leftover j009"]);

    let renewed = site.bench.renew_as(&boot("one"), &[], 0).await?;
    assert_eq!(renewed.cancel, [id("j000")]);
    Ok(())
}

#[tokio::test]
async fn a_dispatched_job_may_still_be_accepted() -> Result<()> {
    let site = Site::open().await;
    let bench = &site.bench;
    bench.enqueue_all(numbered(1)).await?;
    let request = windlass_core::ClaimRequest::single(1).mode(windlass_core::Mode::Dispatch);
    let claim = bench
        .store
        .claim(&bench.queue, request)
        .await?
        .expect("a job is ready");

    assert_eq!(site.mend().await?, Vec::<String>::new());

    let held = bench
        .store
        .accept(&bench.queue, lease_of(&claim, 0), secs(30))
        .await?;
    assert_eq!(held, LeaseStatus::Valid);
    assert_eq!(site.mend().await?, Vec::<String>::new());
    Ok(())
}
