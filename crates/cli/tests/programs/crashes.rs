//! Crashes of resident processes: their jobs, and the restart.

use std::io::{BufRead, BufReader};

use super::running::state_and_reason;
use super::sandbox::{Sandbox, text};

#[test]
fn a_reply_cut_off_by_a_crash_does_not_count() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "--max-attempts 2");
    let script = r#". ./lib.sh
        next_job
        if [ ! -e crashed ]; then
            touch crashed; echo 'about to fall' >&2
            printf '{"type":"done","id":"%s","token":"%s","result":"torn"}' "$id" "$token"; exit 3
        fi
        done_with "$id" "$token" whole; next_job"#;
    let worker = sandbox.start_worker("", script);

    let job = sandbox.shown_in("1", "succeeded");

    assert_eq!(
        (&job["result"], &job["attempt"]),
        (&"whole".into(), &2.into())
    );
    worker.stopped().ok();
}

#[test]
fn a_crash_is_reported_with_its_status_and_the_last_lines() {
    let sandbox = Sandbox::new();
    for id in ["1", "2"] {
        sandbox.job(id, "x", "--max-attempts 1");
    }
    let script = ". ./lib.sh; next_job; next_job; echo 'segmentation of something' >&2; exit 3";

    sandbox.worker("-j 2", script).ok();

    for id in ["1", "2"] {
        let job = sandbox.shown(id);
        for expected in ["exit status 3", "segmentation of something"] {
            assert!(text(&job["error"]).contains(expected), "{expected}: {job}");
        }
    }
}

#[test]
fn a_reply_written_before_the_exit_counts() {
    let sandbox = Sandbox::new();
    for id in ["1", "2", "3"] {
        sandbox.job(id, "x", "--max-attempts 1");
    }
    // A worker that exits after each job, as leaky ones do.
    sandbox
        .worker("", r#". ./lib.sh; next_job; done_with "$id" "$token" fine"#)
        .ok();

    for id in ["1", "2", "3"] {
        assert_eq!(sandbox.shown(id)["result"], "fine", "{id}");
    }
}

/// A resident program that is ready, waits until a job is in its pipe, reads the first bytes of it and exits.
const IGNORES_ITS_JOB: &str = r#"
import array, fcntl, os, sys, termios, time

open("starts", "a").write("x")
while os.read(0, 1) != b"\n":
    pass
os.write(1, b'{"type":"ready"}\n')
unread = array.array("i", [0])
while unread[0] == 0:
    time.sleep(0.01)
    fcntl.ioctl(0, termios.FIONREAD, unread)
os.read(0, int(sys.argv[1])) if sys.argv[1] != "0" else None
os._exit(7)
"#;

/// A job of which the program reads some bytes before it exits.
fn job_of_a_program_that_reads(bytes: u8, job_options: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("ignores.py"), IGNORES_ITS_JOB).unwrap();
    sandbox.job("1", "x", job_options);
    let script = format!(
        r#"if [ ! -e starts ] || [ -e always ]; then exec python3 ignores.py {bytes}; fi
        . ./lib.sh; echo '{{"type":"ready"}}'; next_job; done_with "$id" "$token" fine"#
    );
    std::fs::write(sandbox.path("program.sh"), script).unwrap();
    sandbox
}

#[test]
fn a_job_that_the_process_did_not_read_uses_no_attempt() {
    let sandbox = job_of_a_program_that_reads(0, "--max-attempts 1");

    sandbox.worker("", ". ./program.sh").ok();

    let job = sandbox.shown("1");
    assert_eq!(
        (&job["result"], &job["attempt"]),
        (&"fine".into(), &1.into()),
        "{job}"
    );
}

#[test]
fn a_job_that_the_process_began_to_read_uses_an_attempt() {
    let sandbox = job_of_a_program_that_reads(1, "--max-attempts 1");

    sandbox.worker("", ". ./program.sh").ok();

    let job = sandbox.shown("1");
    assert_eq!(job["state"], "dead");
    assert!(
        text(&job["error"]).contains("while running the job: exit status 7"),
        "{job}"
    );
}

#[test]
fn a_job_that_no_process_reads_is_not_handed_out_for_ever() {
    let sandbox = job_of_a_program_that_reads(0, "--max-attempts 1");
    std::fs::write(sandbox.path("always"), "").unwrap();

    sandbox.worker("", ". ./program.sh").ok();

    let job = sandbox.shown("1");
    assert_eq!(job["state"], "dead");
    assert!(
        text(&job["error"]).contains("exited without reading the job: exit status 7"),
        "{job}"
    );
    let starts = std::fs::read(sandbox.path("starts")).unwrap();
    assert_eq!(starts.len(), 4, "three are free");
}

#[test]
fn a_job_that_crashes_its_process_is_isolated_and_becomes_dead() {
    let sandbox = Sandbox::new();
    sandbox.job("bad", "poison", "");
    for id in ["1", "2", "3", "4"] {
        sandbox.job(id, "fine", "");
    }
    let script = r#". ./lib.sh
        echo '{"type":"ready"}'
        while next_job; do
            [ "$payload" = poison ] && kill -9 $$
            done_with "$id" "$token" ok
        done"#;
    let worker = sandbox.start_worker("-j 5", script);

    let bad = sandbox.shown_in("bad", "dead");

    assert_eq!(state_and_reason(&bad), ("dead", "permanent"));
    assert!(text(&bad["error"]).starts_with("poison"), "{bad}");
    assert_eq!(bad["attempt"], 4, "{bad}");
    for id in ["1", "2", "3", "4"] {
        sandbox.shown_in(id, "succeeded");
    }
    worker.stopped().ok();
}

#[test]
fn a_program_that_crashes_at_start_uses_no_attempt_and_backs_off() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let mut worker = sandbox.start_worker("", "echo 'no such module' >&2; exit 1");

    let mut waits = Vec::new();
    let mut lines = BufReader::new(worker.take_stderr()).lines();
    while waits.len() < 5 {
        let line = lines.next().unwrap().unwrap();
        if let Some((_, wait)) = line.split_once("restarting in ") {
            waits.push(windlass::duration::parse(wait).unwrap());
        }
    }
    worker.stopped();

    // Each is random, in the upper half of twice the previous one.
    assert!(waits[4] > waits[0] * 4, "{waits:?}");
    let job = sandbox.shown("1");
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"ready".into(), &1.into())
    );
}

#[test]
fn a_program_that_disappears_uses_no_attempt() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    sandbox.program("once", "rm once; exit 1");
    let mut worker = sandbox.start("worker --queue q --stdio -- ./once");
    let mut line = String::new();
    let mut lines = BufReader::new(worker.stderr.take().unwrap());
    while !line.contains("exit status 127; restarting in") {
        line.clear();
        lines.read_line(&mut line).unwrap();
    }
    let pid = rustix::process::Pid::from_child(&worker);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(worker.wait().unwrap().success());
    let job = sandbox.shown("1");
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"ready".into(), &1.into())
    );
}
