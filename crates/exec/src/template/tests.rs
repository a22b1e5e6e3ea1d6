//! Where values are filled in, and where they never are.

use super::*;
use crate::sample;

fn command_line(line: &[&str]) -> Vec<OsString> {
    line.iter().map(OsString::from).collect()
}

fn filled(line: &[&str], payload: &[u8]) -> Result<Vec<String>, String> {
    let template = Template::new(&command_line(line)).unwrap();
    let filled = template.fill(&sample::context(payload))?;
    Ok(filled
        .into_iter()
        .map(|argument| argument.into_string().unwrap())
        .collect())
}

#[test]
fn values_are_filled_into_single_arguments() {
    let line = [
        "run",
        "{id}",
        "{kind}-{attempt}",
        "q={queue}",
        "{payload}",
        "{payload.a.b}",
    ];
    assert_eq!(
        filled(&line, br#"{"a":{"b":"x y"}}"#).unwrap(),
        [
            "run",
            "job-1",
            "letter-1",
            "q=mail",
            r#"{"a":{"b":"x y"}}"#,
            "x y"
        ]
    );
}

#[test]
fn no_value_becomes_code_or_more_than_one_argument() {
    for evil in [
        "; rm -rf x",
        "$(touch x)",
        "`touch x`",
        "a b  c",
        "a\nb",
        "{id}",
        "{payload}",
        "'\"\\",
        "*",
        "",
        "é\u{202e}",
        "a -- b",
    ] {
        assert_eq!(
            filled(&["run", "{payload}", "end"], evil.as_bytes()).unwrap(),
            ["run", evil, "end"]
        );
    }
}

#[test]
fn a_value_is_never_taken_for_an_option() {
    for evil in ["-o", "--output=x", "-"] {
        assert!(
            filled(&["run", "{payload}"], evil.as_bytes()).is_err(),
            "{evil}"
        );
        assert!(
            filled(&["run", "{payload}", "--"], evil.as_bytes()).is_err(),
            "{evil}"
        );
        let json = format!(r#"{{"v":"{evil}"}}"#);
        let joined = filled(&["run", "{payload.none:-}{payload.v}"], json.as_bytes());
        assert!(joined.unwrap_err().contains("option"), "{evil}");
        assert!(filled(&["run", "--", "{payload}"], evil.as_bytes()).is_ok());
        assert!(filled(&["run", "x{payload}"], evil.as_bytes()).is_ok());
    }
    assert!(
        filled(&["run", "{payload.none:--v}"], b"{}").is_ok(),
        "the default is the operator's"
    );
}

#[test]
fn a_missing_value_is_an_error_without_a_default() {
    let missing = filled(&["run", "{payload.size}"], b"{}").unwrap_err();
    assert!(missing.contains("{payload.size}"), "{missing}");
    assert!(filled(&["run", "{payload.size}"], b"not json").is_err());
    assert_eq!(
        filled(&["run", "{payload.size:-10}"], b"{}").unwrap(),
        ["run", "10"]
    );
    assert_eq!(
        filled(&["run", "{payload.size:-}"], b"{}").unwrap(),
        ["run", ""]
    );
}

#[test]
fn a_nul_byte_or_a_huge_value_is_an_error() {
    assert!(
        filled(&["run", "{payload}"], b"a\0b")
            .unwrap_err()
            .contains("NUL")
    );
    let huge = vec![b'x'; ARGUMENT_BYTES_MAX + 1];
    assert!(
        filled(&["run", "{payload}"], &huge)
            .unwrap_err()
            .contains("131072")
    );
}

#[test]
fn bytes_that_are_not_text_stay_as_they_are() {
    let template = Template::new(&command_line(&["run", "{payload}"])).unwrap();
    let filled = template.fill(&sample::context(b"\xff\xfe")).unwrap();
    assert_eq!(filled[1].as_encoded_bytes(), b"\xff\xfe");
}

#[test]
fn braces_of_other_languages_are_text() {
    for text in [
        "{print $1}",
        r#"{"a":1}"#,
        "{}",
        "{ id }",
        "{a,b}",
        "}{",
        "{",
        "{{",
        "{ID}",
        "${HOME}",
    ] {
        assert_eq!(filled(&["awk", text], b"").unwrap(), ["awk", text]);
    }
    assert_eq!(
        filled(&["awk", "{{id}} {{print}}"], b"").unwrap(),
        ["awk", "{id} {print}"]
    );
}

#[test]
fn an_invalid_command_is_rejected() {
    for line in [
        &[][..],
        &[""],
        &["{payload}"],
        &["run-{kind}"],
        &["run", "{unknown}"],
        &["run", "{id.x}"],
        &["run", "{payload..a}"],
    ] {
        assert!(Template::new(&command_line(line)).is_err(), "{line:?}");
    }
    assert!(Template::without_placeholders(&command_line(&["run", "{id}"])).is_err());
}

#[test]
fn no_value_becomes_part_of_a_shell_script() {
    for text in ["echo {payload}", "echo '{id}'", "echo {payload.a:-x}"] {
        assert!(Template::shell(&command_line(&[text])).is_err(), "{text}");
    }
    for text in ["echo ${id}", "awk '{print}'", "echo $WINDLASS_JOB_ID"] {
        let template = Template::shell(&command_line(&[text])).unwrap();
        assert_eq!(
            template.command_line(),
            command_line(&["/bin/sh", "-c", text])
        );
    }
    assert!(Template::shell(&command_line(&["a", "b"])).is_err());
}

#[test]
fn no_value_becomes_part_of_the_script_of_a_shell_that_the_command_starts() {
    for line in [
        &["sh", "-c", "echo {payload}"][..],
        &["/bin/bash", "-c", "echo '{payload.a:-x}'"],
        &["bash", "-euo", "pipefail", "-c", "{payload}"],
        &["bash", "-c", "-o", "pipefail", "echo {id}"],
        &["zsh", "-lc", "echo ${kind}"],
        &["sh", "-c", "--", "echo {id}"],
        &["bash", "--norc", "-c", "echo {queue}"],
        &["ksh93", "-c", "{payload}"],
        &["dash", "-{payload}", "x"],
        &["busybox", "sh", "-c", "echo {attempt}"],
        &["env", "-i", "nice", "sh", "-c", "echo {payload}"],
        &["sh", "-c", "exec \"$@\"", "sh", "bash", "-c", "{payload}"],
        &["python3.12", "-c", "print('{payload}')"],
        &["perl", "-ne", "print '{payload}'"],
        &["node", "--eval", "run('{payload}')"],
    ] {
        let error = Template::new(&command_line(line)).unwrap_err();
        assert!(error.help().contains("$1"), "{line:?}: {}", error.help());
    }
}

#[test]
fn a_value_may_be_an_argument_of_a_script() {
    for line in [
        &["sh", "-c", "echo \"$1\"", "sh", "{payload}"][..],
        &["sh", "-c", "echo {{id}}", "sh", "{payload}"],
        &["sh", "script.sh", "{payload}"],
        &["sh", "-e", "script.sh", "-c", "{payload}"],
        &["bash", "-o", "pipefail", "script.sh", "{id}"],
        &["python3", "-m", "tool", "{payload}"],
        &["python3", "-c", "import sys", "{payload}"],
        &["perl", "-i.bake", "{payload}"],
        &["./send", "--shell", "sh", "{payload}"],
    ] {
        assert!(Template::new(&command_line(line)).is_ok(), "{line:?}");
    }
}
