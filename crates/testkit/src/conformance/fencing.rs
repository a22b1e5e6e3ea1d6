//! Fencing: an old token changes nothing, and exactly one holder is told that it completed.

use windlass_core::limits::LEASE_DEFAULT;
use windlass_core::{Claim, Due, Held, Hold, Result, Retry, Settled, Token};

use crate::bench::{Bench, almost, boot, hold, id, ms, secs};

/// One job held by a second claim after the first one's lease ran out: (old claim, new claim).
async fn two_holders(bench: &Bench) -> Result<(Claim, Claim)> {
    bench.fill(&["a"]).await?;
    let old = bench.take_as(&boot("old"), 1, 1).await?;
    bench.outlast_lease();
    let new = bench.take_as(&boot("new"), 1, 1).await?;
    assert_ne!(old.token, new.token);
    Ok((old, new))
}

/// Checks that every settling verb with `hold` answers `told` and leaves the queue as it was.
async fn settling_changes_nothing(bench: &Bench, hold: &Hold, told: Settled) -> Result<()> {
    let before = bench.whole().await?;
    let answers = [
        bench.complete(hold.clone()).await?,
        bench.complete_with(hold.clone(), "result").await?,
        bench.fail(hold.clone(), Retry::Permanent).await?,
        bench.fail(hold.clone(), Retry::At(Due::Now)).await?,
        bench.release(hold.clone()).await?,
        bench.snooze(hold.clone(), Due::After(secs(5))).await?,
    ];
    assert_eq!(answers, [told; 6]);
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_stale_token_settles_nothing(bench: &Bench) -> Result<()> {
    let (old, _) = two_holders(bench).await?;

    settling_changes_nothing(bench, &hold(&old, 0), Settled::Lost).await
}

pub async fn a_stale_token_holds_nothing(bench: &Bench) -> Result<()> {
    let (old, _) = two_holders(bench).await?;
    let before = bench.whole().await?;

    let progress = bench
        .store
        .progress(&bench.queue, hold(&old, 0), 0.5, None)
        .await?;
    let accept = bench
        .store
        .accept(&bench.queue, hold(&old, 0), LEASE_DEFAULT)
        .await?;
    let renewed = bench.renew(old.token).await?;
    let renewed_all = bench.renew_as(&boot("old"), &[old.token], 1).await?;

    assert_eq!((progress, accept), (Held::Lost, Held::Lost));
    assert_eq!((renewed.until, renewed.lost), (None, vec![old.token]));
    assert_eq!(
        (renewed_all.until, renewed_all.lost),
        (None, vec![old.token])
    );
    assert_eq!(bench.whole().await?, before);
    Ok(())
}

pub async fn a_reaped_token_settles_nothing_although_the_job_waits(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.outlast_lease();
    bench.maintain().await?;

    settling_changes_nothing(bench, &hold(&claim, 0), Settled::Lost).await
}

pub async fn a_token_that_was_never_issued_settles_nothing(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;

    for token in [
        Token {
            number: claim.token.number,
            nonce: claim.token.nonce ^ 1,
        },
        Token {
            number: claim.token.number + 1,
            nonce: claim.token.nonce,
        },
        Token {
            number: 0,
            nonce: 0,
        },
    ] {
        settling_changes_nothing(bench, &Hold::new(id("a"), token), Settled::Lost).await?;
    }
    Ok(())
}

pub async fn a_token_settles_only_jobs_of_its_own_claim(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "waiting"]).await?;
    let first = bench.take(1).await?;
    bench.take(1).await?;

    for name in ["b", "waiting"] {
        settling_changes_nothing(bench, &Hold::new(id(name), first.token), Settled::Lost).await?;
    }
    Ok(())
}

pub async fn a_job_that_never_was_is_gone(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    let forgotten = Token {
        number: 1,
        nonce: 1,
    };
    assert_ne!(claim.token, forgotten);

    settling_changes_nothing(bench, &Hold::new(id("nobody"), forgotten), Settled::Gone).await
}

pub async fn a_verb_on_a_queue_that_never_was_makes_none(bench: &Bench) -> Result<()> {
    let token = Token {
        number: 1,
        nonce: 1,
    };

    assert_eq!(
        bench.complete(Hold::new(id("a"), token)).await?,
        Settled::Gone
    );
    let renewed = bench.renew(token).await?;
    assert_eq!((renewed.until, renewed.lost), (None, vec![token]));

    assert_eq!(bench.dump().await?, None);
    Ok(())
}

pub async fn exactly_one_of_two_holders_completes(bench: &Bench) -> Result<()> {
    let (old, new) = two_holders(bench).await?;

    assert_eq!(bench.complete(hold(&old, 0)).await?, Settled::Lost);
    assert_eq!(bench.complete(hold(&new, 0)).await?, Settled::Completed);
    let late = bench.complete(hold(&old, 0)).await?;

    assert!(matches!(late, Settled::Lost | Settled::Gone), "{late:?}");
    assert_eq!(bench.whole().await?.stats.total.succeeded, 1);
    Ok(())
}

pub async fn a_claim_is_completed_in_parts_and_in_any_order(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b", "c", "d"]).await?;
    let claim = bench.take(4).await?;

    let parts = vec![hold(&claim, 2), hold(&claim, 0)];
    assert_eq!(
        bench.complete_all(parts).await?.settled,
        [Settled::Completed; 2]
    );
    assert_eq!(bench.complete(hold(&claim, 3)).await?, Settled::Completed);

    assert_eq!(bench.whole().await?.stats.running, 1);
    assert_eq!(bench.complete(hold(&claim, 1)).await?, Settled::Completed);
    assert!(bench.whole().await?.jobs.is_empty());
    Ok(())
}

pub async fn a_repeated_complete_is_told_completed_again(bench: &Bench) -> Result<()> {
    bench.fill(&["a", "b"]).await?;
    let claim = bench.take(2).await?;
    bench.complete(hold(&claim, 0)).await?;
    let open = bench.whole().await?;
    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Completed);
    assert_eq!(bench.whole().await?, open);

    bench.complete(hold(&claim, 1)).await?;
    bench.advance(almost(secs(60)));

    let again = bench
        .complete_all(vec![hold(&claim, 0), hold(&claim, 1)])
        .await?;
    assert_eq!(again.settled, [Settled::Completed; 2]);
    assert_eq!(bench.whole().await?.stats.total.succeeded, 2);
    Ok(())
}

pub async fn a_complete_repeated_late_is_told_gone(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.complete(hold(&claim, 0)).await?;

    bench.advance(secs(60));

    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Gone);
    Ok(())
}

pub async fn a_complete_repeated_late_on_a_kept_job_is_told_lost(bench: &Bench) -> Result<()> {
    bench.fill(&["a"]).await?;
    let claim = bench.take(1).await?;
    bench.complete_with(hold(&claim, 0), "kept").await?;

    bench.advance(secs(60));

    assert_eq!(bench.complete(hold(&claim, 0)).await?, Settled::Lost);
    Ok(())
}

pub async fn an_id_enqueued_again_is_not_settled_by_its_earlier_life(bench: &Bench) -> Result<()> {
    bench.set("dedup_for=0s").await?;
    bench.fill(&["a"]).await?;
    let earlier = bench.take(1).await?;
    bench.complete(hold(&earlier, 0)).await?;
    bench.advance(ms(1));
    bench.fill(&["a"]).await?;
    bench.take(1).await?;
    let before = bench.whole().await?;

    // The first life is still remembered: its holder hears of it, the second life does not.
    assert_eq!(bench.complete(hold(&earlier, 0)).await?, Settled::Completed);
    assert_eq!(bench.release(hold(&earlier, 0)).await?, Settled::Lost);

    assert_eq!(bench.whole().await?, before);
    Ok(())
}
