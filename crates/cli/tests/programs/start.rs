//! What a worker checks before it claims anything: its program, and the variables it passes on.

use super::sandbox::{Ran, Sandbox, text};

#[test]
fn a_worker_without_its_program_creates_no_store() {
    let sandbox = Sandbox::new();
    for line in [
        "--json exec --queue q -- ./not-there",
        "--json worker --queue q --stdio -- ./not-there",
        "--json up --listen 127.0.0.1:0 --queue q -- ./not-there",
    ] {
        let error = sandbox.run(line).exits(78).error();
        assert_eq!(error["code"], "bad_config", "{error}");
        let message = text(&error["message"]);
        assert_eq!(message, "cannot run ./not-there: it does not exist");
    }
    assert!(!sandbox.has_store());
}

#[test]
fn a_program_is_searched_in_the_path_that_it_will_have() {
    let sandbox = Sandbox::new();
    sandbox.program("send", "true");

    let ran = sandbox.run("exec --queue q --burst -- send").exits(78);
    assert!(
        ran.stderr.contains("no program send in PATH (/"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("write ./send"), "{}", ran.stderr);

    let path = format!("PATH={}:/bin:/usr/bin", sandbox.path("").display());
    let words = [
        "exec", "--queue", "q", "--burst", "--env", &path, "--", "send",
    ];
    sandbox.run_words(&words).ok();
}

#[test]
fn a_file_of_variables_is_passed_on() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let file = "# for the mailer\nAPI_KEY='hunter2'\nCOLOUR=red\n";
    std::fs::write(sandbox.path("mail.env"), file).unwrap();

    sandbox
        .exec("--env-file mail.env --env COLOUR=blue", "env")
        .ok();

    let result = sandbox.shown("1")["result"].clone();
    for line in ["API_KEY=hunter2\n", "COLOUR=blue\n"] {
        assert!(text(&result).contains(line), "{result}");
    }
    std::fs::write(sandbox.path("mail.env"), "A=1\nhunter2\n").unwrap();
    let ran = sandbox.exec("--env-file mail.env", "true").exits(2);
    let error = ran.error();
    assert!(
        text(&error["message"]).contains("mail.env line 2"),
        "{error}"
    );
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn all_variables_are_passed_on_except_those_of_windlass() {
    let sandbox = Sandbox::new();
    sandbox.job("1", "x", "");
    let mut command = sandbox.exec_command("--burst --env-all -- env");
    command
        .env("ANYTHING", "here")
        .env("WINDLASS_HTTP_TOKEN", "hunter2");

    Ran::from(command.output().unwrap()).ok();

    let result = sandbox.shown("1")["result"].clone();
    assert!(text(&result).contains("ANYTHING=here\n"), "{result}");
    assert!(!text(&result).contains("hunter2"), "{result}");
}

#[test]
fn a_requested_variable_that_is_not_set_is_a_warning() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .run("exec --queue q --burst --env NOT_SET -- true")
        .ok();
    assert!(
        ran.stderr.contains("--env NOT_SET: not set"),
        "{}",
        ran.stderr
    );
}
