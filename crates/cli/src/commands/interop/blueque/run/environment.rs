//! What a program sees of the environment: a short list, what was asked for, and the task.

use std::ffi::OsString;

use tokio::process::Command;
use windlass_interop::blueque::Task;

use crate::exit::{Failure, Result};

/// Passed on because hardly any program works without them, and none of them is a secret.
const PASSED: [&str; 7] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME"];

/// Passed on by how they begin.
const PASSED_PREFIX: &str = "LC_";

/// Names the store, often with a password in it.
const STORE: &str = "WINDLASS_STORE";

/// The variables that every process gets.
#[derive(Clone)]
pub(super) struct Environment(Vec<(OsString, OsString)>);

impl Environment {
    /// The short list, and what was asked for as `NAME` or `NAME=VALUE`.
    pub(super) fn new(asked: &[String]) -> Result<Self> {
        let split = |text: &String| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text.clone(), None),
        };
        let asked: Vec<_> = asked.iter().map(split).collect();
        for (name, _) in &asked {
            if name.is_empty() || name == STORE {
                return Err(Failure::usage(
                    format!("--env cannot pass on {name:?}"),
                    "write NAME or NAME=VALUE; programs of tasks never see the store",
                ));
            }
        }
        let is_passed = |name: &str| {
            PASSED.contains(&name)
                || name.starts_with(PASSED_PREFIX)
                || asked.contains(&(name.to_owned(), None))
        };
        let all = std::env::vars_os();
        let mut chosen: Vec<_> = all
            .filter(|(name, _)| name.to_str().is_some_and(is_passed))
            .collect();
        for (name, value) in asked {
            chosen.extend(value.map(|value| (name.into(), value.into())));
        }
        Ok(Self(chosen))
    }

    /// Gives a command these variables, those of its task, and no others.
    pub(super) fn give(&self, command: &mut Command, task: &Task) {
        command.env_clear();
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
        command.env("WINDLASS_TASK_ID", &task.id);
        command.env("WINDLASS_QUEUE", task.queue.as_deref().unwrap_or_default());
    }
}
