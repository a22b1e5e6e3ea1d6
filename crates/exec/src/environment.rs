//! The environment of a program: a short list of inherited variables, those that the flags add, and the job's.

mod file;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
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

/// `--env-all` leaves these out: they configure Windlass, and some are secrets.
const OWN_PREFIX: &str = "WINDLASS_";

/// The variables that `exec` sets for each job.
const JOB_VARIABLES: [&str; 9] = [
    "WINDLASS_JOB_ID",
    "WINDLASS_QUEUE",
    "WINDLASS_KIND",
    "WINDLASS_GROUP",
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

/// Flags that add variables to the default list.
#[derive(Debug, Clone, Default, Args)]
pub struct EnvironmentArgs {
    /// Environment variable to pass on (NAME) or set (NAME=VALUE); repeatable
    #[arg(long, value_name = "NAME", requires = "command")]
    pub env: Vec<String>,

    /// File with variables to set, one NAME=VALUE per line; repeatable
    #[arg(long, value_name = "FILE", requires = "command")]
    pub env_file: Vec<PathBuf>,

    /// Pass on all variables, except those that begin with WINDLASS_
    #[arg(long, requires = "command")]
    pub env_all: bool,
}

/// The environment variables of all processes of a worker.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Names that were requested, and are set.
    added: Vec<String>,
    /// Names that were requested, and are not set.
    unset: Vec<String>,
    is_all: bool,
}

impl EnvironmentArgs {
    /// Selects variables of this process for processes that run any number of jobs.
    pub fn select(&self) -> Result<Environment> {
        let mut requested = Vec::new();
        for path in &self.env_file {
            requested.extend(file::read(path)?);
        }
        // After the files, so that the flag takes precedence.
        requested.extend(self.env.iter().cloned());
        Environment::select(std::env::vars_os(), &requested, self.env_all)
    }

    /// Like [`select`](Self::select), but rejects the variables that are set for each job.
    pub fn select_for_jobs(&self) -> Result<Environment> {
        let selected = self.select()?;
        let clash = JOB_VARIABLES.iter().find(|name| {
            let is_set = selected.variables.iter().any(|(known, _)| known == *name);
            is_set || selected.unset.iter().any(|unset| unset == *name)
        });
        match clash {
            None => Ok(selected),
            Some(name) => Err(Error::invalid(
                "variable",
                format!("{name} is set by Windlass for each job"),
                "remove it, or pass the value under another name",
            )),
        }
    }
}

impl Environment {
    fn select(
        all: impl Iterator<Item = (OsString, OsString)>,
        requested: &[String],
        is_all: bool,
    ) -> Result<Self> {
        let requested: Vec<(&str, Option<&str>)> = requested
            .iter()
            .map(|variable| match variable.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (variable.as_str(), None),
            })
            .collect();
        for (name, value) in &requested {
            check(name, *value)?;
        }
        let is_inherited = |name: &OsStr| {
            let by_flag = is_all && !name.as_encoded_bytes().starts_with(OWN_PREFIX.as_bytes());
            let by_name = |name: &str| {
                INHERITED.contains(&name)
                    || name.starts_with(INHERITED_PREFIX)
                    || requested.contains(&(name, None))
            };
            by_flag || name.to_str().is_some_and(by_name)
        };
        let mut variables: Vec<_> = all.filter(|(name, _)| is_inherited(name)).collect();
        let (mut added, mut unset) = (Vec::new(), Vec::new());
        for (name, value) in requested {
            let known = variables.iter().position(|(known, _)| known == name);
            match (value, known) {
                (Some(value), Some(at)) => variables[at].1 = value.into(),
                (Some(value), None) => variables.push((name.into(), value.into())),
                (None, Some(_)) => {}
                (None, None) => {
                    unset.push(name.to_owned());
                    continue;
                }
            }
            if !INHERITED.contains(&name) {
                added.push(name.to_owned());
            }
        }
        Ok(Self {
            variables,
            added,
            unset,
            is_all,
        })
    }

    /// Logs which variables programs get, by name, and which requested ones they do not get.
    pub(crate) fn log(&self) {
        for name in &self.unset {
            tracing::warn!(name: "variable_unset", target: "windlass", "--env {name}: not set here, so programs \
                do not get it; set it, or write --env {name}=VALUE");
        }
        let summary = self.summary();
        // The default list is documented; a line about it at every start would be noise.
        if self.is_all || !self.added.is_empty() {
            tracing::info!(name: "environment", target: "windlass", "programs get {summary}");
        } else {
            tracing::debug!(name: "environment", target: "windlass", "programs get {summary}");
        }
    }

    /// Names the default list as a whole: which of them are set says little.
    fn summary(&self) -> String {
        if self.is_all {
            return format!("all variables except {OWN_PREFIX}*");
        }
        let all_of_prefix = format!("{INHERITED_PREFIX}*");
        let mut names = INHERITED.to_vec();
        names.push(&all_of_prefix);
        names.extend(self.added.iter().map(String::as_str));
        let more = "; --env NAME adds a variable";
        let more = if self.added.is_empty() { more } else { "" };
        format!("{}{more}", names.join(", "))
    }

    /// Returns the names of all variables, in order. Values may be secrets.
    fn names(&self) -> Vec<String> {
        let names = self.variables.iter();
        let mut names: Vec<_> = names
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns the value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        let mut variables = self.variables.iter();
        let found = variables.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Sets exactly these variables on a command.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        command.env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Values may be secrets.
        f.debug_list().entries(self.names()).finish()
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
    if let Some(group) = &job.group {
        variables.push(("WINDLASS_GROUP", group.to_string()));
    }
    if let Some(deadline) = deadline(context) {
        variables.push(("WINDLASS_DEADLINE", deadline));
    }
    let traces = [("TRACEPARENT", "traceparent"), ("TRACESTATE", "tracestate")];
    for (variable, header) in traces {
        if let Some(value) = context.trace_header(header) {
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

    fn selected(all: &[(&str, &str)], requested: &[&str], is_all: bool) -> Environment {
        let all = all.iter().map(|(name, value)| (name.into(), value.into()));
        let requested: Vec<_> = requested.iter().map(|&text| text.to_owned()).collect();
        Environment::select(all, &requested, is_all).unwrap()
    }

    fn values(environment: &Environment) -> Vec<String> {
        let variables = environment.variables.iter();
        let both = |(name, value): &(OsString, OsString)| {
            format!("{}={}", name.display(), value.display())
        };
        variables.map(both).collect()
    }

    const ALL: [(&str, &str); 6] = [
        ("PATH", "/bin"),
        ("LC_ALL", "C"),
        ("SECRET", "hunter2"),
        ("WINDLASS_STORE", "redis://:hunter2@h"),
        ("LD_PRELOAD", "x.so"),
        ("TOKEN", "t"),
    ];

    fn flags(env: &str) -> EnvironmentArgs {
        EnvironmentArgs {
            env: vec![env.to_owned()],
            ..EnvironmentArgs::default()
        }
    }

    #[test]
    fn only_the_default_list_and_requested_variables_are_passed_on() {
        let selected = selected(&ALL, &["TOKEN", "ABSENT", "A=1=2", "LC_ALL=de"], false);
        let expected = ["PATH=/bin", "LC_ALL=de", "TOKEN=t", "A=1=2"];
        assert_eq!(values(&selected), expected);
        assert_eq!(selected.unset, ["ABSENT"]);
        assert_eq!(selected.names(), ["A", "LC_ALL", "PATH", "TOKEN"]);
        let summary = selected.summary();
        assert!(summary.starts_with("PATH, HOME, "), "{summary}");
        assert!(summary.ends_with(", LC_*, TOKEN, A, LC_ALL"), "{summary}");
    }

    #[test]
    fn all_variables_are_passed_on_except_those_of_windlass() {
        let selected = selected(&ALL, &["SECRET=other"], true);
        let names = ["LC_ALL", "LD_PRELOAD", "PATH", "SECRET", "TOKEN"];
        assert_eq!(selected.names(), names);
        assert_eq!(selected.summary(), "all variables except WINDLASS_*");
        assert_eq!(selected.get("SECRET"), Some(OsStr::new("other")));
    }

    #[test]
    fn the_store_cannot_be_requested() {
        for requested in ["WINDLASS_STORE", "WINDLASS_STORE=x", "", "=x", "A=\0"] {
            assert!(flags(requested).select().is_err(), "{requested}");
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
                assert!(flags(&requested).select_for_jobs().is_err(), "{requested}");
            }
        }
        for requested in ["WINDLASS_HTTP_TOKEN", "A=WINDLASS_TOKEN"] {
            assert!(flags(requested).select_for_jobs().is_ok(), "{requested}");
        }
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
        assert_eq!(get("WINDLASS_GROUP"), Some("acme"));
        assert_eq!(get("WINDLASS_ATTEMPT"), Some("1"));
        assert_eq!(get("WINDLASS_MAX_ATTEMPTS"), Some("20"));
        assert_eq!(get("WINDLASS_TOKEN"), Some("7-0000beef"));
        assert_eq!(get("TRACEPARENT"), Some("00-1-2-01"));
        assert!(timestamp::parse(get("WINDLASS_DEADLINE").unwrap()).is_ok());
    }
}
