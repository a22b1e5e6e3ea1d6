//! `windlass maintain` and `windlass audit`, under their old name `windlass clean` as well.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::sandbox::{Ran, Sandbox, has_fields, text};

/// The current name of the command and its old one.
const MAINTAIN: [&str; 2] = ["maintain", "clean"];
const AUDIT: [&str; 2] = ["audit", "clean --deep"];

#[test]
fn maintenance_takes_jobs_back_from_expired_leases() {
    for command in MAINTAIN {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x --id 1").ok();
        let claimed = sandbox.run("claim q --lease 1ms --json").ok().json();

        let reply = sandbox.run(&format!("{command} --json")).ok().json();

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
}

#[test]
fn maintenance_promotes_due_jobs_in_every_queue() {
    for command in MAINTAIN {
        let sandbox = Sandbox::new();
        for queue in ["a", "b"] {
            sandbox.run(&format!("enqueue {queue} x --delay 1ms")).ok();
        }

        let promoted = |line: String| sandbox.run(&line).ok().json()["promoted"].clone();
        assert_eq!(promoted(format!("{command} a --json")), 1);
        assert_eq!(promoted(format!("{command} --json")), 1);
    }
}

#[test]
fn maintenance_continues_while_its_pages_are_full() {
    for command in MAINTAIN {
        let sandbox = Sandbox::new();
        let due = "{\"delay\":\"1ms\"}\n".repeat(250);
        sandbox.feed("enqueue q --ndjson -", due.as_bytes()).ok();

        let reply = sandbox.run(&format!("{command} --json")).ok().json();

        assert_eq!(reply["promoted"], 250);
    }
}

#[test]
fn an_audit_of_a_consistent_store_repairs_nothing() {
    for command in AUDIT {
        let sandbox = Sandbox::new();
        sandbox
            .feed("enqueue q --ndjson -", "{}\n".repeat(50).as_bytes())
            .ok();
        sandbox.claim("q");

        let reply = sandbox.run(&format!("{command} --json")).ok().json();

        assert_eq!(
            (&reply["repaired"], &reply["checked"]),
            (&0.into(), &50.into())
        );
    }
}

#[test]
fn an_audit_and_the_old_deep_clean_run_maintenance_too() {
    let replies = AUDIT.map(|command| {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x --id 1 --delay 1ms").ok();
        sandbox.run(&format!("{command} q --json")).ok().json()
    });

    assert_eq!(replies[0], replies[1]);
    assert_eq!(
        (&replies[0]["promoted"], &replies[0]["checked"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_maintenance_process_runs_until_a_signal() {
    for line in [
        "maintain --every 1h --audit-every 2h --json",
        "clean --every 1h --deep-every 2h --json",
    ] {
        for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
            let sandbox = Sandbox::new();
            sandbox.run("enqueue q x --delay 1ms").ok();
            let mut child = sandbox.start(line);
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
}

#[test]
fn a_maintenance_process_can_be_stopped_in_the_middle_of_a_run() {
    for (signal, code) in [(Signal::TERM, 0), (Signal::INT, 130)] {
        let sandbox = Sandbox::new();
        sandbox.run("enqueue q x --delay 1ms").ok();
        // The run waits for this lock.
        let _lock = sandbox.lock_store();
        let child = sandbox.start("maintain --every 1h --json");
        until_caught(&child, signal);

        kill_process(Pid::from_child(&child), signal).unwrap();

        // It does not wait for the store, so it does not report that it is locked either.
        let ran = Ran::from(child.wait_with_output().unwrap()).exits(code);
        assert_eq!((ran.text().as_str(), ran.stderr.as_str()), ("", ""));
    }
}

/// Waits until a process has installed a handler for a signal.
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
