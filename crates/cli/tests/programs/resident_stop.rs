//! Stopping resident workers and cancelling their jobs.

use super::running::gone;
use super::sandbox::{Sandbox, text};

#[test]
fn a_worker_that_drains_finishes_its_job_within_the_grace() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let script = r#". ./lib.sh
        next_job; echo > begun
        while read -r line; do case $line in *'"type":"drain"'*) break;; esac; done
        done_with "$id" "$token" 'made it'"#;
    let worker = sandbox.start_worker("--json --grace 1m", script);
    sandbox.line_of("begun");

    let summary = worker.stopped().ok().json();

    assert_eq!(summary["succeeded"], 1, "{summary}");
    assert_eq!(sandbox.shown("1")["result"], "made it");
}

#[test]
fn a_job_that_exceeds_the_grace_is_released_and_its_process_is_gone() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let script = ". ./lib.sh; trap '' TERM; next_job; echo $$ > pid; while :; do sleep 1000; done";
    let worker = sandbox.start_worker("--json --grace 1s --kill-after 2s", script);
    let pid = sandbox.line_of("pid");

    let summary = worker.stopped().ok().json();

    gone(&pid);
    assert_eq!(summary["released"], 1, "{summary}");
    let job = sandbox.shown("1");
    assert_eq!(
        (&job["state"], &job["attempt"]),
        (&"ready".into(), &1.into())
    );
}

#[test]
fn a_cancelled_job_may_report_its_own_end() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let script = r#". ./lib.sh
        next_job; echo > begun
        while read -r line; do case $line in *'"type":"cancel"'*) echo "$line" > cancel; break;; esac; done
        echo "{\"type\":\"fail\",\"id\":\"$id\",\"token\":\"$token\",\"error\":\"stopped\"}"
        next_job"#;
    let worker = sandbox.start_worker("--kill-after 1m", script);
    sandbox.line_of("begun");

    sandbox.run("job cancel q 1").ok();

    sandbox.shown_in("1", "cancelled");
    assert!(sandbox.line_of("cancel").contains(r#""reason":"user""#));
    worker.stopped().ok();
}

#[test]
fn a_reply_after_the_cancel_timeout_is_ignored_and_other_jobs_continue() {
    let sandbox = Sandbox::new();
    sandbox.gate("gate");
    sandbox.job("slow", "x", "");
    sandbox.job("other", "x", "");
    let script = r#". ./lib.sh
        next_job; first=$id; first_token=$token; next_job; echo > begun
        # In either order: reply to the cancelled job before the other one.
        slow=$token; other=$first_token
        if [ "$first" = slow ]; then slow=$first_token; other=$token; fi
        read -r _ < gate
        done_with slow "$slow" slow; done_with other "$other" other
        next_job"#;
    let worker = sandbox.start_worker("-j 2 --kill-after 200ms", script);
    sandbox.line_of("begun");

    sandbox.run("job cancel q slow").ok();
    sandbox.shown_in("slow", "cancelled");
    sandbox.open("gate");

    assert_eq!(sandbox.shown_in("other", "succeeded")["result"], "other");
    let ran = worker.stopped().ok();
    assert!(ran.stderr.contains("too late"), "{}", ran.stderr);
}

#[test]
fn a_process_that_hangs_on_its_only_job_is_replaced() {
    let sandbox = Sandbox::new();
    sandbox.job("hang", "hang", "--max-attempts 1 --timeout 8s");
    sandbox.job("next", "fine", "--priority 9");
    let script = r#". ./lib.sh
        echo '{"type":"ready"}'
        while next_job; do
            [ "$payload" = hang ] && { echo $$ > pid; while :; do sleep 1000; done; }
            done_with "$id" "$token" ok
        done"#;

    sandbox.worker("--kill-after 200ms", script).ok();

    assert_eq!(sandbox.shown("next")["result"], "ok");
    let hung = sandbox.shown("hang");
    assert!(
        text(&hung["error"]).contains("timed out after 8s"),
        "{hung}"
    );
    gone(&sandbox.line_of("pid"));
}

#[test]
fn the_children_of_a_process_are_gone_with_it() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let script = r#". ./lib.sh
        sleep 1000 >/dev/null 2>&1 & echo $! > orphan
        while next_job; do done_with "$id" "$token" ok; done"#;

    sandbox.worker("", script).ok();

    gone(&sandbox.line_of("orphan"));
}
