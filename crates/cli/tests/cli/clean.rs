//! The light clean, the deep one, and the cleaning process.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Sandbox, has_fields, text};

#[test]
fn a_clean_takes_jobs_back_from_expired_leases() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let claimed = sandbox.run("claim q --lease 1ms --json").ok().json();

    let reply = sandbox.run("clean --json").ok().json();

    has_fields(&reply, "promoted reaped pruned repaired");
    assert_eq!(reply["reaped"], 1);
    let token = text(&claimed[0]["token"]);
    let ran = sandbox
        .run(&format!("complete q 1 --token {token} --json"))
        .exits(4);
    assert_eq!(ran.error()["code"], "lease_lost");
    assert_eq!(
        sandbox.run("queue stats q --json").ok().json()["total"]["rescued"],
        1
    );
}

#[test]
fn a_clean_promotes_what_is_due_in_every_queue() {
    let sandbox = Sandbox::new();
    for queue in ["a", "b"] {
        sandbox.run(&format!("enqueue {queue} x --delay 1ms")).ok();
    }

    assert_eq!(sandbox.run("clean a --json").ok().json()["promoted"], 1);
    assert_eq!(sandbox.run("clean --json").ok().json()["promoted"], 1);
}

#[test]
fn a_deep_clean_of_a_sound_store_repairs_nothing() {
    let sandbox = Sandbox::new();
    sandbox
        .feed("enqueue q --ndjson -", "{}\n".repeat(50).as_bytes())
        .ok();
    sandbox.claim("q");

    let reply = sandbox.run("clean --deep --json").ok().json();

    assert_eq!(
        (&reply["repaired"], &reply["checked"]),
        (&0.into(), &50.into())
    );
}

#[test]
fn a_cleaning_process_goes_on_until_it_is_told_to_stop() {
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x --delay 1ms").ok();
        let mut child = sandbox.start("clean --every 1h --deep-every 2h --json");
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut first)
            .unwrap();
        let reply: serde_json::Value = serde_json::from_str(&first).unwrap();
        assert_eq!(
            (&reply["promoted"], &reply["checked"]),
            (&1.into(), &1.into())
        );

        kill_process(Pid::from_child(&child), signal).unwrap();

        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}
