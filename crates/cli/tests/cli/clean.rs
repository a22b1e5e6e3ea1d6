//! The light clean, the deep one, and the cleaning process.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Ran, Sandbox, has_fields, text};

#[test]
fn a_clean_takes_jobs_back_from_expired_leases() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue q x --id 1").ok();
    let claimed = sandbox.run("claim q --lease 1ms --json").ok().json();

    let reply = sandbox.run("clean --json").ok().json();

    has_fields(&reply, "promoted reaped expired pruned forgotten repaired");
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
fn a_clean_goes_on_while_its_pages_are_full() {
    let sandbox = Sandbox::new();
    let due = "{\"delay\":\"1ms\"}\n".repeat(250);
    sandbox.feed("enqueue q --ndjson -", due.as_bytes()).ok();

    assert_eq!(sandbox.run("clean --json").ok().json()["promoted"], 250);
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

#[test]
fn a_cleaning_process_is_stopped_in_the_middle_of_a_clean() {
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x --delay 1ms").ok();
        // Whoever holds the store keeps the clean waiting.
        let _holder = sandbox.hold_store();
        let child = sandbox.start("clean --every 1h --json");
        until_caught(&child, signal);

        kill_process(Pid::from_child(&child), signal).unwrap();

        // Not even a word that the store is held: it did not wait for that answer.
        let ran = Ran::from(child.wait_with_output().unwrap()).exits(code);
        assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("", ""));
    }
}

/// Waits until a process has a handler of its own for a signal.
fn until_caught(child: &Child, signal: Signal) {
    let path = format!("/proc/{}/status", child.id());
    let is_caught = || {
        let status = std::fs::read_to_string(&path).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
        mask >> (signal.as_raw() - 1) & 1 == 1
    };
    let end = Instant::now() + Duration::from_secs(30);
    while !is_caught() {
        assert!(Instant::now() < end, "no handler for {signal:?}");
        std::thread::yield_now();
    }
}
