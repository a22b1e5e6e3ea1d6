//! All kinds of damage at once.

use windlass_core::store::{Fraction, Retry};
use windlass_core::{Due, NewJob, Priority, Result};
use windlass_testkit::fixture::{boot, lease_of, named, numbered, secs};
use windlass_testkit::redis::Reply;

use crate::fixture::AuditFixture;

/// Fills a queue with jobs in every state.
pub(crate) async fn fill(test: &AuditFixture) -> Result<()> {
    suspect(test).await?;
    let fixture = &test.fixture;
    fixture.enqueue_all(numbered(40)).await?;
    fixture
        .enqueue_all((0..10).map(|n| NewJob::new(format!("plain {n}"))).collect())
        .await?;
    for n in 0..6 {
        fixture
            .enqueue(named(&format!("later{n}")).delay(secs(60)))
            .await?;
        let key = format!("key{n}").parse()?;
        fixture
            .enqueue(
                named(&format!("keyed{n}"))
                    .unique_key(key)
                    .expires(Due::After(secs(500))),
            )
            .await?;
        fixture
            .enqueue(named(&format!("low{n}")).priority(Priority::new(8)?))
            .await?;
    }
    let claim = fixture.take_as(&boot("one"), 1, 8).await?;
    for at in 0..3 {
        fixture
            .complete_with(lease_of(&claim, at), "result")
            .await?;
        fixture
            .fail(lease_of(&claim, at + 3), Retry::Permanent)
            .await?;
    }
    fixture.take_as(&boot("one"), 2, 5).await?;
    let claim = fixture.take(5).await?;
    let half = Some("half".to_owned());
    fixture
        .store
        .progress(
            &fixture.queue,
            lease_of(&claim, 1),
            Fraction::new(0.5)?,
            half,
        )
        .await?;
    fixture.cancel(claim.jobs[2].id.as_str()).await?;
    for name in ["j020", "j021", "j019", "low1"] {
        fixture.cancel(name).await?;
    }
    // Enqueued again while its stale entry still exists.
    fixture.delete("j019").await?;
    fixture.enqueue(named("j019")).await?;
    Ok(())
}

/// Makes two jobs of the lowest priority suspects.
async fn suspect(test: &AuditFixture) -> Result<()> {
    let fixture = &test.fixture;
    fixture.set("poison_after=9").await?;
    let names = ["odd1", "odd2"];
    for name in names {
        fixture
            .enqueue(named(name).priority(Priority::new(9)?))
            .await?;
    }
    for _ in 0..2 {
        for _ in names {
            fixture.take(1).await?;
        }
        fixture.outlast_lease();
        fixture.maintain().await?;
    }
    for name in names {
        assert_eq!(fixture.job(name).await?.expiries, 2);
    }
    Ok(())
}

/// Runs commands, each given as `COMMAND KEY` and its other arguments.
fn plant(test: &AuditFixture, commands: &[(&str, &[&str])]) {
    for (start, rest) in commands {
        let (command, key) = start.split_once(' ').expect("a command and a key");
        test.command(command, key, rest);
    }
}

/// Damages the keys of jobs.
fn plant_in_jobs(test: &AuditFixture) {
    plant(
        test,
        &[
            ("HDEL jobs", &["", "j022", "later1"]),
            ("HSET jobs", &["intruder", "x", "bad\tid", "y"]),
            ("HDEL opts", &["j023", ""]),
            ("HSET opts", &["j024", "pp\n", "nobody", "n\n"]),
            ("HSET errors", &["nobody", "x"]),
            ("HSET results", &["nobody", "x", "j025", "x"]),
            ("LREM ready:5", &["1", "\t0\tj026"]),
            ("RPUSH ready:5", &["j027", "nobody", "", "later2"]),
            ("RPUSH ready:0", &["j028"]),
            ("ZADD suspects", &["6047313952768", "j029", "5", "nobody"]),
            ("HSET ghosts", &["j020", "4 0", "nobody", "x"]),
            ("ZREM scheduled", &["later3"]),
            (
                "ZADD scheduled",
                &["9", "j030", "9", "nobody", "0.5", "later4"],
            ),
            ("ZREM expiring", &["keyed1"]),
            (
                "ZADD expiring",
                &["9", "keyed2", "9", "j031", "9", "nobody"],
            ),
            ("HDEL unique", &["key3"]),
            ("HSET unique", &["key4", "nobody", "stray", "j031"]),
            ("ZADD stopping", &["0", "b:two\tj032", "0", "x"]),
            ("HSET progress", &["j032", "x", "nobody", "1\t1"]),
            ("HDEL final", &["j000"]),
            ("HSET final", &["j001", "x", "j033", "dead\t5\t\tpoison"]),
            ("HSET final", &["nobody", "dead\t5\t\tpoison"]),
            ("ZREM succeeded", &["j002"]),
            ("ZADD dead", &["5", "j003", "5", "j034", "5", "nobody"]),
            ("ZADD cancelled", &["5", "j004"]),
            (
                "HSET tombstones",
                &["j035", "dead 99999999999999", "j000", "x"],
            ),
            ("ZADD forgetting", &["5", "nobody"]),
        ],
    );
}

/// Damages the keys of the three claims.
fn plant_in_claims(test: &AuditFixture) {
    let tokens = test.command("ZRANGE", "tokens", &["0", "-1"]);
    let tokens: Vec<String> = tokens.array().iter().map(Reply::text).collect();
    let [.., first, second, third] = &tokens[..] else {
        panic!("three claims are recorded");
    };
    plant(
        test,
        &[
            ("HDEL running", &["j008", ""]),
            ("HSET running", &["j009", "x", "nobody", "5-00000001\t5-1"]),
            ("HSET open", &[first, "9\t1\tb:one", third, "x"]),
            ("HSET open", &["7-00000001", "1\t1\tb:two"]),
            ("HDEL claims", &[second]),
            ("HSET left", &[first, "x", "7-00000001", "dead x\n"]),
            ("ZADD tokens", &["5", first, "inf", "8-00000001"]),
            ("ZREM holds", &[&format!("b:one\t{first}")]),
            ("ZADD holds", &["0", "b:two\tx"]),
            ("ZREM leases", &["b:one"]),
            ("ZADD leases", &["inf", "b:three", "5", "t:9-00000001"]),
            ("HSET owners", &["b:one", "x", "b:four", "1\t\t\t\t"]),
        ],
    );
}

/// Damages the stats and removes the queue from the registry.
fn plant_in_stats(test: &AuditFixture) {
    test.server.command(&["DEL", "windlass:{*}:queues"]).ok();
    for (at, number) in [
        (3, 0.0),
        (5, f64::NAN),
        (7, 50.0),
        (8, 1.0),
        (43, 1.0),
        (26, 0.0),
        (29, 50.0),
    ] {
        test.set_stat(at, number);
    }
}

#[tokio::test]
async fn all_kinds_of_damage_are_repaired_in_one_audit() -> Result<()> {
    let test = AuditFixture::open().await;
    fill(&test).await?;
    plant_in_jobs(&test);
    plant_in_claims(&test);
    plant_in_stats(&test);

    let repairs = test.repair().await?;

    assert!(repairs.len() > 50, "{repairs:?}");
    // All jobs that had not ended and are not running can be claimed, each once.
    let mut ids = test.drain().await?;
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for id in [
        "intruder", "j023", "j024", "j026", "j027", "j028", "j029", "later3", "j008", "j009",
    ] {
        assert!(ids.iter().any(|found| found == id), "{id} of {ids:?}");
    }
    assert!(ids.iter().any(|id| id.starts_with("recovered-")), "{ids:?}");
    test.assert_sound().await?;
    assert_eq!(test.audit().await?.1, []);
    Ok(())
}
