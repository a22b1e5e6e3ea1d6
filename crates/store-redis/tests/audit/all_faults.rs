//! Every fault at once, and an audit of everything.

use windlass_core::{Due, NewJob, Priority, Result, Retry};
use windlass_testkit::fixture::{boot, lease_of, named, numbered, secs};
use windlass_testkit::redis::Reply;

use crate::fixture::Site;

/// A queue with some of everything.
pub(crate) async fn fill(site: &Site) -> Result<()> {
    suspect(site).await?;
    let bench = &site.bench;
    bench.enqueue_all(numbered(40)).await?;
    bench
        .enqueue_all((0..10).map(|n| NewJob::new(format!("plain {n}"))).collect())
        .await?;
    for n in 0..6 {
        bench
            .enqueue(named(&format!("later{n}")).delay(secs(60)))
            .await?;
        let key = format!("key{n}").parse()?;
        bench
            .enqueue(
                named(&format!("keyed{n}"))
                    .unique_key(key)
                    .expires(Due::After(secs(500))),
            )
            .await?;
        bench
            .enqueue(named(&format!("low{n}")).priority(Priority::new(8)?))
            .await?;
    }
    let claim = bench.take_as(&boot("one"), 1, 8).await?;
    for at in 0..3 {
        bench.complete_with(lease_of(&claim, at), "result").await?;
        bench
            .fail(lease_of(&claim, at + 3), Retry::Permanent)
            .await?;
    }
    bench.take_as(&boot("one"), 2, 5).await?;
    let claim = bench.take(5).await?;
    let half = Some("half".to_owned());
    bench
        .store
        .progress(&bench.queue, lease_of(&claim, 1), 0.5, half)
        .await?;
    bench.cancel(claim.jobs[2].id.as_str()).await?;
    for name in ["j020", "j021", "j019", "low1"] {
        bench.cancel(name).await?;
    }
    // Again, while its stale entry still stands.
    bench.delete("j019").await?;
    bench.enqueue(named("j019")).await?;
    Ok(())
}

/// Makes suspects of two jobs whose turn comes last.
async fn suspect(site: &Site) -> Result<()> {
    let bench = &site.bench;
    bench.set("poison_after=9").await?;
    let odd = ["odd1", "odd2"];
    for name in odd {
        bench
            .enqueue(named(name).priority(Priority::new(9)?))
            .await?;
    }
    for _ in 0..2 {
        for _ in odd {
            bench.take(1).await?;
        }
        bench.outlast_lease();
        bench.maintain().await?;
    }
    for name in odd {
        assert_eq!(bench.job(name).await?.expiries, 2);
    }
    Ok(())
}

/// Faults by hand, one in a line: the command, the key, and the rest.
fn plant(site: &Site, faults: &[(&str, &[&str])]) {
    for (words, rest) in faults {
        let (command, key) = words.split_once(' ').expect("a command and a key");
        site.hand(command, key, rest);
    }
}

/// Plants faults in the places of jobs, and in what they have beside.
fn plant_in_jobs(site: &Site) {
    plant(
        site,
        &[
            ("HDEL jobs", &["", "j022", "later1"]),
            ("HSET jobs", &["intruder", "x", "bad\tid", "y"]),
            ("HDEL opts", &["j023", ""]),
            ("HSET opts", &["j024", "pp\n", "nobody", "n\n"]),
            ("HSET errors", &["nobody", "x"]),
            ("HSET results", &["nobody", "x", "j025", "x"]),
            ("LREM ready:5", &["1", "j026"]),
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

/// Plants faults in what is known of the three claims.
fn plant_in_claims(site: &Site) {
    let tokens = site.hand("ZRANGE", "tokens", &["0", "-1"]);
    let tokens: Vec<String> = tokens.array().iter().map(Reply::text).collect();
    let [.., first, second, third] = &tokens[..] else {
        panic!("three claims are on record");
    };
    plant(
        site,
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

/// Plants faults in the figures, and takes the queue off the list.
fn plant_in_figures(site: &Site) {
    site.server.command(&["DEL", "windlass:{*}:queues"]).ok();
    for (at, number) in [
        (3, 0.0),
        (5, f64::NAN),
        (7, 50.0),
        (8, 1.0),
        (10, 1.0),
        (31, 0.0),
        (34, 50.0),
    ] {
        site.set_figure(at, number);
    }
}

#[tokio::test]
async fn every_fault_at_once_is_mended_in_one_audit() -> Result<()> {
    let site = Site::open().await;
    fill(&site).await?;
    plant_in_jobs(&site);
    plant_in_claims(&site);
    plant_in_figures(&site);

    let faults = site.mend().await?;

    assert!(faults.len() > 50, "{faults:?}");
    // All that was not ended or running by right can be claimed; nothing is handed out twice.
    let mut ids = site.drain().await?;
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
    site.assert_sound().await?;
    assert_eq!(site.audit().await?.1, []);
    Ok(())
}
