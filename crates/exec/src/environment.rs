//! The environment of a program: a short list of inherited variables, and the job's.

use std::ffi::OsString;
use std::time::Duration;

use tokio::process::Command;
use windlass_api::timestamp;
use windlass_core::{Clock, Error, Result, SystemClock, Timestamp};
use windlass_worker::AttemptContext;

/// Inherited, because hardly any program works without them and none of them is secret.
const INHERITED: [&str; 7] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"];

/// Variables with this prefix are inherited as well.
const INHERITED_PREFIX: &str = "LC_";

/// The URL of the store, which often contains a password; never passed to programs.
const STORE_VARIABLE: &str = "WINDLASS_STORE";

/// The variables that `exec` sets for each job.
const JOB_VARIABLES: [&str; 8] = [
    "WINDLASS_JOB_ID",
    "WINDLASS_QUEUE",
    "WINDLASS_KIND",
    "WINDLASS_ATTEMPT",
    "WINDLASS_MAX_ATTEMPTS",
    "WINDLASS_TOKEN",
    "WINDLASS_DEADLINE",
    PROGRESS_FD_VARIABLE,
];

/// The file descriptor for progress lines.
pub(crate) const PROGRESS_FD: i32 = 3;

/// The variable that holds it.
pub(crate) const PROGRESS_FD_VARIABLE: &str = "WINDLASS_FD";

/// The environment variables of all processes of a worker.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// Selects from this process's environment the default list and the `requested` variables, given as
    /// `NAME` or `NAME=VALUE`.
    pub fn new<S: AsRef<str>>(requested: &[S]) -> Result<Self> {
        Self::select(std::env::vars_os(), requested)
    }

    /// Like [`new`](Self::new), but rejects requests for the variables that are set for each job.
    pub fn for_jobs<S: AsRef<str>>(requested: &[S]) -> Result<Self> {
        for variable in requested {
            let name = variable.as_ref().split('=').next().unwrap_or_default();
            if JOB_VARIABLES.contains(&name) {
                return Err(Error::invalid(
                    "variable",
                    format!("{name} is set by Windlass for each job"),
                    "remove it, or pass the value under another name",
                ));
            }
        }
        Self::new(requested)
    }

    fn select<S: AsRef<str>>(
        all: impl Iterator<Item = (OsString, OsString)>,
        requested: &[S],
    ) -> Result<Self> {
        let requested: Vec<(&str, Option<&str>)> = requested
            .iter()
            .map(|variable| match variable.as_ref().split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (variable.as_ref(), None),
            })
            .collect();
        for (name, value) in &requested {
            check(name, *value)?;
        }
        let is_inherited = |name: &str| {
            INHERITED.contains(&name)
                || name.starts_with(INHERITED_PREFIX)
                || requested.contains(&(name, None))
        };
        let mut selected: Vec<_> = all
            .filter(|(name, _)| name.to_str().is_some_and(is_inherited))
            .collect();
        // Set later, so these take precedence.
        for (name, value) in requested {
            if let Some(value) = value {
                selected.push((name.into(), value.into()));
            }
        }
        Ok(Self(selected))
    }

    /// Sets exactly these variables on a command.
    pub(crate) fn apply_to(&self, command: &mut Command) {
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
        return bad(
            "the name is empty, or there is a NUL byte",
            "write NAME or NAME=VALUE",
        );
    }
    if name == STORE_VARIABLE {
        return bad(
            "the store's URL is never passed to programs",
            "use the job's result, or pass a URL under another name",
        );
    }
    Ok(())
}

/// Returns the variables that describe a job.
pub(crate) fn job_variables(context: &AttemptContext) -> Vec<(&'static str, String)> {
    let job = context.job();
    let mut variables = vec![
        ("WINDLASS_JOB_ID", job.id.to_string()),
        ("WINDLASS_QUEUE", context.queue().to_string()),
        ("WINDLASS_ATTEMPT", job.attempt.to_string()),
        ("WINDLASS_MAX_ATTEMPTS", job.retry.max_attempts.to_string()),
        ("WINDLASS_TOKEN", context.token().to_string()),
        (PROGRESS_FD_VARIABLE, PROGRESS_FD.to_string()),
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

/// Returns when the attempt times out, as RFC 3339.
pub(crate) fn deadline(context: &AttemptContext) -> Option<String> {
    let left = context
        .deadline()?
        .saturating_duration_since(std::time::Instant::now());
    Some(from_now(left))
}

/// Returns a time after now as RFC 3339, by this machine's clock.
pub(crate) fn from_now(wait: Duration) -> String {
    let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
    timestamp::format(now.plus(wait))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn selected(all: &[(&str, &str)], requested: &[&str]) -> Vec<(String, String)> {
        let all = all.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::select(all, requested).unwrap();
        let text = |text: &OsString| text.clone().into_string().unwrap();
        let both = |(name, value): &(OsString, OsString)| (text(name), text(value));
        environment.0.iter().map(both).collect()
    }

    #[test]
    fn only_the_default_list_and_requested_variables_are_passed_on() {
        let all = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("SECRET", "hunter2"),
            ("WINDLASS_STORE", "redis://:hunter2@h"),
            ("LD_PRELOAD", "x.so"),
            ("TOKEN", "t"),
        ];
        let names: Vec<_> = selected(&all, &["TOKEN", "ABSENT", "A=1=2"])
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(names, ["PATH=/bin", "LC_ALL=C", "TOKEN=t", "A=1=2"]);
    }

    #[test]
    fn the_store_cannot_be_requested() {
        for requested in ["WINDLASS_STORE", "WINDLASS_STORE=x", "", "=x", "A=\0"] {
            assert!(Environment::new(&[requested]).is_err(), "{requested}");
        }
    }

    #[test]
    fn variables_that_are_set_for_each_job_cannot_be_requested() {
        let mut job = sample::job(b"");
        job.timeout = Some(std::time::Duration::from_secs(60));
        let mut variables = job_variables(&sample::context_of(job));
        variables.retain(|(name, _)| name.starts_with("WINDLASS_"));

        assert_eq!(variables.len(), JOB_VARIABLES.len());
        for (name, _) in variables {
            for requested in [name.to_owned(), format!("{name}=x")] {
                assert!(Environment::for_jobs(&[&requested]).is_err(), "{requested}");
            }
        }
        assert!(Environment::for_jobs(&["WINDLASS_HTTP_TOKEN", "A=WINDLASS_TOKEN"]).is_ok());
    }

    #[test]
    fn variables_describe_the_job() {
        let mut job = sample::job(b"");
        job.headers.set("traceparent", "00-1-2-01").unwrap();
        job.timeout = Some(std::time::Duration::from_secs(60));
        let variables = job_variables(&sample::context_of(job));
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
