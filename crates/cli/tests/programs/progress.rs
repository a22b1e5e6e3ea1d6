//! Progress over file descriptor 3.

use windlass_testkit::redis::until;

use super::sandbox::Sandbox;

#[test]
fn progress_is_visible_while_the_job_runs_and_invalid_lines_are_ignored() {
    let sandbox = Sandbox::new();
    sandbox.gate("gate");
    sandbox.job("1", "x", "");
    let script = r#"
        echo nonsense >&$WINDLASS_FD
        echo '{"progress":7}' >&3
        echo '{"progress":0.1}' >&3
        echo '{"progress":0.4,"message":"half way"}' >&3
        read -r _ < gate
        echo done"#;
    let worker = sandbox.start_exec("", script);

    let job = until("progress", || {
        let job = sandbox.shown("1");
        if job["progress"] == 0.4 {
            Ok(job)
        } else {
            Err(job.to_string())
        }
    });
    assert_eq!(job["progress_message"], "half way");
    sandbox.open("gate");

    sandbox.shown_in("1", "succeeded");
    let ran = worker.stopped().ok();
    assert_eq!(
        ran.stderr.matches("descriptor 3").count(),
        1,
        "{}",
        ran.stderr
    );
}
