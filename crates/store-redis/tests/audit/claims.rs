//! Claims, their records, owners and leases.

use windlass_core::store::LeaseStatus;
use windlass_core::{LeaseTime, OutcomeStatus, Result};
use windlass_testkit::fixture::{boot, id, lease_of, leases_of, numbered, secs};

use crate::fixture::AuditFixture;

/// Twelve jobs: three held by a worker in two claims, two by a single claim.
async fn fill(test: &AuditFixture) -> Result<[windlass_core::Claim; 3]> {
    let fixture = &test.fixture;
    fixture.enqueue_all(numbered(12)).await?;
    let first = fixture.take_as(&boot("one"), 1, 1).await?;
    let second = fixture.take_as(&boot("one"), 2, 2).await?;
    let single = fixture.take(2).await?;
    Ok([first, second, single])
}

#[tokio::test]
async fn jobs_without_an_open_claim_are_made_ready() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, single] = fill(&test).await?;
    test.command(
        "HDEL",
        "open",
        &[&second.token.to_string(), &single.token.to_string()],
    );
    test.command(
        "ZADD",
        "stopping",
        &["0", &format!("t:{}\tj003", single.token)],
    );

    let repairs = test.repair().await?;

    for name in ["j001", "j002", "j003", "j004"] {
        assert!(
            repairs.contains(&format!("running_without_lease {name}")),
            "{repairs:?}"
        );
    }
    // The job being cancelled is cancelled, the others are ready at the front.
    assert_eq!(test.fixture.ready().await?.len(), 10);
    assert_eq!(
        test.fixture.complete(lease_of(&second, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        test.fixture.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

#[tokio::test]
async fn jobs_with_unreadable_lease_records_are_made_ready() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, _] = fill(&test).await?;
    test.command(
        "HSET",
        "running",
        &[
            "j000",
            "nonsense",
            "j001",
            &format!("{}\t5-4x", second.token),
        ],
    );

    let repairs = test.repair().await?;

    assert_eq!(
        repairs,
        [
            "claim_miscounted",
            "lease_unreadable j000",
            "lease_unreadable j001"
        ]
    );
    assert_eq!(
        test.fixture.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        test.fixture.complete(lease_of(&second, 1)).await?,
        OutcomeStatus::Completed
    );
    Ok(())
}

#[tokio::test]
async fn lease_records_that_do_not_match_their_jobs_are_rewritten() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, ..] = fill(&test).await?;
    test.command(
        "HSET",
        "running",
        &["j000", &format!("{}\t3-7", first.token)],
    );

    assert_eq!(test.repair().await?, ["lease_wrong j000"]);

    assert_eq!(
        test.fixture.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    test.assert_sound().await
}

#[tokio::test]
async fn claims_that_miscount_are_counted_again() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, single] = fill(&test).await?;
    let set = |token: String, text: &str| test.command("HSET", "open", &[&token, text]);
    set(first.token.to_string(), "7\t1\tb:one");
    set(second.token.to_string(), "0\t2\tb:one");
    set(single.token.to_string(), "nonsense");
    set("5-00000001".to_owned(), "3\t9\tb:two");
    set("no token".to_owned(), "1\t1\tb:one");

    assert_eq!(
        test.repair().await?,
        ["claim_miscounted", "claim_unreadable"]
    );

    for claim in [first, second, single] {
        let done = test.fixture.complete_all(leases_of(&claim)).await?.statuses;
        assert!(
            done.iter().all(|done| *done == OutcomeStatus::Completed),
            "{done:?}"
        );
    }
    test.assert_sound().await
}

#[tokio::test]
async fn a_lost_claim_record_is_rebuilt_from_running_jobs() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, single] = fill(&test).await?;
    test.command("DEL", "claims", &[]);

    let repairs = test.repair().await?;

    assert!(
        repairs.contains(&"claim_unrecorded j004".to_owned()),
        "{repairs:?}"
    );
    assert_eq!(
        test.fixture.complete(lease_of(&first, 0)).await?,
        OutcomeStatus::Completed
    );
    // Jobs without a record would never be reclaimed.
    test.fixture.outlast_lease();
    assert_eq!(test.fixture.maintain().await?.reaped, 4);
    assert_eq!(
        test.fixture.complete(lease_of(&second, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    assert_eq!(
        test.fixture.complete(lease_of(&single, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    Ok(())
}

#[tokio::test]
async fn a_claim_without_a_lease_is_given_one() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, single] = fill(&test).await?;
    test.command("DEL", "leases", &[]);

    assert_eq!(test.repair().await?, ["claim_without_lease"]);

    let renewed = test
        .fixture
        .renew_as(&boot("one"), &[first.token, second.token], 2)
        .await?;
    assert_eq!((renewed.until.is_some(), renewed.lost), (true, vec![]));
    test.fixture.outlast_lease();
    assert_eq!(test.fixture.maintain().await?.reaped, 5);
    assert_eq!(
        test.fixture.complete(lease_of(&single, 0)).await?,
        OutcomeStatus::LeaseLost
    );
    Ok(())
}

#[tokio::test]
async fn lost_owners_are_restored() -> Result<()> {
    let test = AuditFixture::open().await;
    let [_, second, _] = fill(&test).await?;
    test.command("DEL", "owners", &[]);

    assert_eq!(test.repair().await?, ["owner_wrong"]);

    // The worker's latest claim is unchanged.
    let again = test.fixture.take_as(&boot("one"), 2, 2).await?;
    assert_eq!(again.token, second.token);
    assert_eq!(test.fixture.claim_as(&boot("one"), 1, 2).await?, None);
    Ok(())
}

#[tokio::test]
async fn orphaned_leases_and_owners_are_dropped_and_endless_leases_expire() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    test.command(
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
    test.command(
        "HSET",
        "owners",
        &["b:two", "30000\t\t\t\t", "b:one", "soon"],
    );

    let repairs = test.repair().await?;

    let expected = [
        "lease_endless",
        "lease_without_claim",
        "owner_without_lease",
        "owner_wrong",
    ];
    assert_eq!(repairs, expected);
    test.fixture.outlast_lease();
    assert_eq!(test.fixture.maintain().await?.reaped, 5);
    Ok(())
}

#[tokio::test]
async fn tokens_and_lease_records_agree_with_open_claims() -> Result<()> {
    let test = AuditFixture::open().await;
    let [first, second, single] = fill(&test).await?;
    test.fixture.release(lease_of(&second, 1)).await?;
    let [one, two, three] = [&first, &second, &single].map(|claim| claim.token.to_string());
    test.command(
        "ZADD",
        "tokens",
        &["7", &one, "inf", "5-00000001", "7", "nonsense"],
    );
    test.command("ZREM", "tokens", &[&two]);
    test.command("DEL", "holds", &[]);
    test.command(
        "ZADD",
        "holds",
        &["0", &format!("b:two\t{three}"), "0", "nonsense"],
    );
    test.command(
        "HSET",
        "left",
        &[
            &two,
            "released j002\nlease_lost j001\nx y\n",
            "5-00000001",
            "dead a\n",
        ],
    );

    let repairs = test.repair().await?;

    assert_eq!(
        repairs,
        [
            "claim_history_wrong",
            "claim_unowned",
            "claim_unreadable",
            "token_wrong"
        ]
    );
    let renewed = test
        .fixture
        .renew_as(&boot("one"), &[first.token, second.token], 2)
        .await?;
    assert_eq!(renewed.lost, []);
    assert_eq!(
        test.fixture.release(lease_of(&second, 1)).await?,
        OutcomeStatus::Released
    );
    Ok(())
}

#[tokio::test]
async fn cancel_requests_without_a_running_job_are_dropped() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    test.fixture.cancel("j000").await?;
    test.command(
        "ZADD",
        "stopping",
        &["0", "b:one\tj009", "0", "b:two\tj001"],
    );
    test.command("HSET", "progress", &["j009", "0.5\t7"]);

    assert_eq!(test.repair().await?, ["leftover j001", "leftover j009"]);

    let renewed = test.fixture.renew_as(&boot("one"), &[], 0).await?;
    assert_eq!(renewed.cancel, [id("j000")]);
    Ok(())
}

#[tokio::test]
async fn a_dispatched_job_may_still_be_accepted() -> Result<()> {
    let test = AuditFixture::open().await;
    let fixture = &test.fixture;
    fixture.enqueue_all(numbered(1)).await?;
    let request = windlass_core::ClaimRequest::single(1).mode(windlass_core::Mode::Dispatch);
    let claim = fixture
        .store
        .claim(&fixture.queue, request)
        .await?
        .expect("a job is ready");

    assert_eq!(test.repair().await?, Vec::<String>::new());

    let status = fixture
        .store
        .accept(
            &fixture.queue,
            lease_of(&claim, 0),
            LeaseTime::nearest(secs(30)),
        )
        .await?;
    assert_eq!(status, LeaseStatus::Valid);
    assert_eq!(test.repair().await?, Vec::<String>::new());
    Ok(())
}
