//! What a program sees of the environment: a short list, and the job.

use std::ffi::OsString;

use tokio::process::Command;
use windlass_api::timestamp;
use windlass_core::{Clock, Error, Result, SystemClock, Timestamp};
use windlass_worker::AttemptContext;

/// Passed on because hardly any program works without them, and none of them is a secret.
const PASSED: [&str; 7] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"];

/// Passed on by how they begin.
const PASSED_PREFIX: &str = "LC_";

/// Names the store, often with a password in it; no program of a job gets it.
const STORE: &str = "WINDLASS_STORE";

/// What `exec` tells of each job; its own values are the true ones.
const OF_JOB: [&str; 8] = [
    "WINDLASS_JOB_ID",
    "WINDLASS_QUEUE",
    "WINDLASS_KIND",
    "WINDLASS_ATTEMPT",
    "WINDLASS_MAX_ATTEMPTS",
    "WINDLASS_TOKEN",
    "WINDLASS_DEADLINE",
    "WINDLASS_FD",
];

/// The descriptor that takes lines about progress.
pub(crate) const PROGRESS_FD: i32 = 3;

/// The variables that every process of a worker gets.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// What is passed on of this process' environment: the short list, and what was asked for as
    /// `NAME` or `NAME=VALUE`.
    pub fn new<S: AsRef<str>>(asked: &[S]) -> Result<Self> {
        Self::choose(std::env::vars_os(), asked)
    }

    /// The same for programs that are told of their job in variables: those cannot be asked for.
    pub fn beside_job<S: AsRef<str>>(asked: &[S]) -> Result<Self> {
        for asked in asked {
            let name = asked.as_ref().split('=').next().unwrap_or_default();
            if OF_JOB.contains(&name) {
                return Err(Error::invalid(
                    "variable",
                    format!("{name} is set for each job by what runs it"),
                    "leave it out, or pass the value on under another name",
                ));
            }
        }
        Self::new(asked)
    }

    fn choose<S: AsRef<str>>(
        all: impl Iterator<Item = (OsString, OsString)>,
        asked: &[S],
    ) -> Result<Self> {
        let asked: Vec<(&str, Option<&str>)> = asked
            .iter()
            .map(|asked| match asked.as_ref().split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (asked.as_ref(), None),
            })
            .collect();
        for (name, value) in &asked {
            check(name, *value)?;
        }
        let is_passed = |name: &str| {
            PASSED.contains(&name)
                || name.starts_with(PASSED_PREFIX)
                || asked.contains(&(name, None))
        };
        let mut chosen: Vec<_> = all
            .filter(|(name, _)| name.to_str().is_some_and(is_passed))
            .collect();
        // Set later, so these win.
        for (name, value) in asked {
            if let Some(value) = value {
                chosen.push((name.into(), value.into()));
            }
        }
        Ok(Self(chosen))
    }

    /// Gives a command these variables and no others.
    pub(crate) fn give(&self, command: &mut Command) {
        command.env_clear();
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets.
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_list().entries(names).finish()
    }
}

fn check(name: &str, value: Option<&str>) -> Result<()> {
    let bad = |why: &str, help: &'static str| {
        let short: String = name.chars().take(40).collect();
        Err(Error::invalid(
            "variable",
            format!("{why}: {short:?}"),
            help,
        ))
    };
    if name.is_empty() || name.contains('\0') || value.is_some_and(|value| value.contains('\0')) {
        return bad("it has no name, or a NUL byte", "write NAME or NAME=VALUE");
    }
    if name == STORE {
        return bad(
            "programs of jobs never see the store",
            "let them speak through their result, or give them a URL of their own under another name",
        );
    }
    Ok(())
}

/// The variables that speak of a job.
pub(crate) fn of_job(context: &AttemptContext) -> Vec<(&'static str, String)> {
    let job = context.job();
    let mut variables = vec![
        ("WINDLASS_JOB_ID", job.id.to_string()),
        ("WINDLASS_QUEUE", context.queue().to_string()),
        ("WINDLASS_ATTEMPT", job.attempt.to_string()),
        ("WINDLASS_MAX_ATTEMPTS", job.retry.max_attempts.to_string()),
        ("WINDLASS_TOKEN", context.token().to_string()),
        ("WINDLASS_FD", PROGRESS_FD.to_string()),
    ];
    if let Some(kind) = &job.kind {
        variables.push(("WINDLASS_KIND", kind.to_string()));
    }
    if let Some(deadline) = deadline(context) {
        variables.push(("WINDLASS_DEADLINE", deadline));
    }
    let traces = [("TRACEPARENT", "traceparent"), ("TRACESTATE", "tracestate")];
    for (variable, header) in traces {
        if let Some(value) = job.headers.get(header) {
            variables.push((variable, value.to_owned()));
        }
    }
    variables
}

/// When the attempt is stopped, as RFC 3339; by this machine's clock, as the program's is.
pub(crate) fn deadline(context: &AttemptContext) -> Option<String> {
    let left = context
        .deadline()?
        .saturating_duration_since(std::time::Instant::now());
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    Some(timestamp::format(now.plus(left)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn chosen(all: &[(&str, &str)], asked: &[&str]) -> Vec<(String, String)> {
        let all = all.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::choose(all, asked).unwrap();
        let text = |text: &OsString| text.clone().into_string().unwrap();
        let both = |(name, value): &(OsString, OsString)| (text(name), text(value));
        environment.0.iter().map(both).collect()
    }

    #[test]
    fn only_the_list_and_what_was_asked_for_is_passed_on() {
        let all = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("SECRET", "hunter2"),
            ("WINDLASS_STORE", "redis://:hunter2@h"),
            ("LD_PRELOAD", "x.so"),
            ("TOKEN", "t"),
        ];
        let names: Vec<_> = chosen(&all, &["TOKEN", "ABSENT", "A=1=2"])
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(names, ["PATH=/bin", "LC_ALL=C", "TOKEN=t", "A=1=2"]);
    }

    #[test]
    fn the_store_cannot_even_be_asked_for() {
        for asked in ["WINDLASS_STORE", "WINDLASS_STORE=x", "", "=x", "A=\0"] {
            assert!(Environment::new(&[asked]).is_err(), "{asked}");
        }
    }

    #[test]
    fn what_the_job_is_told_cannot_be_asked_for() {
        let mut job = sample::job(b"");
        job.timeout = Some(std::time::Duration::from_secs(60));
        let mut told = of_job(&sample::context_of(job));
        told.retain(|(name, _)| name.starts_with("WINDLASS_"));

        assert_eq!(told.len(), OF_JOB.len());
        for (name, _) in told {
            for asked in [name.to_owned(), format!("{name}=x")] {
                assert!(Environment::beside_job(&[&asked]).is_err(), "{asked}");
            }
        }
        assert!(Environment::beside_job(&["WINDLASS_HTTP_TOKEN", "A=WINDLASS_TOKEN"]).is_ok());
    }

    #[test]
    fn the_job_is_told_in_variables() {
        let mut job = sample::job(b"");
        job.headers.set("traceparent", "00-1-2-01").unwrap();
        job.timeout = Some(std::time::Duration::from_secs(60));
        let variables = of_job(&sample::context_of(job));
        let get = |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        };
        assert_eq!(get("WINDLASS_JOB_ID"), Some("job-1"));
        assert_eq!(get("WINDLASS_QUEUE"), Some("mail"));
        assert_eq!(get("WINDLASS_KIND"), Some("letter"));
        assert_eq!(get("WINDLASS_ATTEMPT"), Some("1"));
        assert_eq!(get("WINDLASS_MAX_ATTEMPTS"), Some("20"));
        assert_eq!(get("WINDLASS_TOKEN"), Some("7-0000beef"));
        assert_eq!(get("TRACEPARENT"), Some("00-1-2-01"));
        assert!(timestamp::parse(get("WINDLASS_DEADLINE").unwrap()).is_ok());
    }
}
