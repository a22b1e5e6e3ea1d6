//! Words of other tools that people type here, and the command or flag that does the same.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_api::{Code, Error};

/// Unknown commands.
const COMMANDS: [(&[&str], &str); 19] = [
    (
        &[
            "add", "create", "dispatch", "publish", "push", "put", "send",
        ],
        "did you mean `windlass enqueue QUEUE PAYLOAD`?",
    ),
    (
        &["consume", "process", "run", "start", "work"],
        "did you mean `windlass exec QUEUE CMD`, which runs a program for each job?",
    ),
    (
        &[
            "dequeue", "fetch", "lease", "next", "pop", "pull", "receive", "reserve", "take",
        ],
        "did you mean `windlass claim QUEUE`? `windlass exec QUEUE CMD` claims and completes by itself",
    ),
    (
        &["ack", "done", "finish"],
        "did you mean `windlass complete QUEUE ID --token T`?",
    ),
    (
        &["nack", "reject"],
        "did you mean `windlass fail QUEUE ID --token T --error E`, or `windlass release`?",
    ),
    (
        &[
            "info", "list", "ls", "queues", "show", "stat", "stats", "status",
        ],
        "did you mean `windlass queue list`? `windlass job list QUEUE` lists jobs, `windlass doctor` finds problems",
    ),
    (&["jobs"], "did you mean `windlass job list QUEUE`?"),
    (
        &["ps", "processes"],
        "did you mean `windlass workers`? `windlass job list QUEUE --state running` lists what runs",
    ),
    (
        &["events", "follow", "log", "logs", "monitor", "watch"],
        "did you mean `windlass tail`? The log lines of a worker are on its standard error",
    ),
    (
        &[
            "cancel", "delete", "get", "inspect", "promote", "retry", "rm", "wait",
        ],
        "did you mean `windlass job …`? For example `windlass job get QUEUE ID` or `windlass job retry QUEUE ID`",
    ),
    (
        &[
            "clear", "drain", "empty", "flush", "pause", "purge", "resume", "set", "unpause",
        ],
        "did you mean `windlass queue …`? For example `windlass queue pause QUEUE` or `windlass queue purge QUEUE`",
    ),
    (
        &["cron", "crontab", "periodic", "schedule", "scheduler"],
        "did you mean `windlass schedules put QUEUE NAME --cron '30 2 * * *' PAYLOAD`, or --every 10m?",
    ),
    (
        &["group", "limit", "limits", "tenant", "throttle"],
        "did you mean `windlass groups set QUEUE GROUP max_running=3`, or `windlass queue set QUEUE max_running=5`?",
    ),
    (
        &["delay", "later"],
        "did you mean `windlass enqueue QUEUE PAYLOAD --delay 1h` (or --at T)?",
    ),
    (
        &["api", "daemon", "dashboard", "http", "server", "ui", "web"],
        "did you mean `windlass serve`? `windlass up QUEUE CMD` also runs a worker",
    ),
    (
        &["check", "health", "ping", "verify"],
        "did you mean `windlass doctor`?",
    ),
    (
        &["backup", "compact", "migrate", "vacuum"],
        "did you mean `windlass store …`? For example `windlass store backup FILE`",
    ),
    (&["benchmark", "perf"], "did you mean `windlass bench`?"),
    (
        &["init", "install", "setup"],
        "nothing to set up: the first `windlass enqueue QUEUE PAYLOAD` creates the store",
    ),
];

/// Unknown flags.
const FLAGS: [(&[&str], &str); 12] = [
    (
        &[
            "--concurrency",
            "--parallel",
            "--threads",
            "--workers",
            "-c",
            "-n",
        ],
        "did you mean -j N?",
    ),
    (&["--port", "-p"], "did you mean --listen 127.0.0.1:PORT?"),
    (
        &["--follow", "--watch", "-f", "-w"],
        "did you mean `windlass tail`, which prints job events as they happen?",
    ),
    (
        &["--broker", "--database", "--db", "--redis", "--url"],
        "did you mean --store URL?",
    ),
    (
        &["--format", "--output", "-o"],
        "did you mean --json? Without it, results are text",
    ),
    (
        &["--body", "--data", "--message", "--payload", "-d"],
        "the payload is an argument: `windlass enqueue QUEUE PAYLOAD`, or - to read stdin",
    ),
    (
        &["--attempts", "--max-retries", "--retries", "--retry"],
        "did you mean --max-attempts N? It counts the first attempt too",
    ),
    (
        &["--after", "--countdown", "--eta", "--in", "--run-at"],
        "did you mean --delay D, such as --delay 5m, or --at T?",
    ),
    (
        &["--timezone", "--tz"],
        "did you mean --zone TZ, such as --zone Europe/Berlin?",
    ),
    (&["--interval"], "did you mean --every D?"),
    (&["--ttl"], "did you mean --expires D?"),
    (&["--status"], "did you mean --state S?"),
];

/// Returns a better error for a word that people know from other tools.
pub(crate) fn find(error: &clap::Error) -> Option<Error> {
    if error.kind() == ErrorKind::ValueValidation {
        return missing_queue(error);
    }
    let (kind, table, what): (_, &[(&[&str], &str)], _) = match error.kind() {
        ErrorKind::InvalidSubcommand => (ContextKind::InvalidSubcommand, &COMMANDS, "command"),
        ErrorKind::UnknownArgument => (ContextKind::InvalidArg, &FLAGS, "flag"),
        _ => return None,
    };
    let Some(ContextValue::String(word)) = error.get(kind) else {
        return None;
    };
    // A similar flag of the same command is the better answer: `--concurency` of `bench`.
    if error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let (_, help) = table
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()))?;
    Some(Error::new(
        Code::Usage,
        format!("unknown {what} `{word}`"),
        *help,
    ))
}

/// `exec ./send`: the program is where the queue is expected, which is optional only in commands that run one.
fn missing_queue(error: &clap::Error) -> Option<Error> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let program = text(ContextKind::InvalidValue)?;
    let is_path = ["/", "./", "../"].iter().any(|it| program.starts_with(it));
    (is_path && text(ContextKind::InvalidArg) == Some("[QUEUE]")).then(|| {
        Error::new(
            Code::Usage,
            format!("`{program}` is a program; the queue before it is missing"),
            format!("write the queue first: QUEUE {program}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::{command, parse};
    use super::*;

    fn hint(line: &str) -> Option<Error> {
        let parsed = parse(line.split(' ').map(Into::into).collect::<Vec<_>>());
        find(&parsed.unwrap_err().0)
    }

    #[test]
    fn words_of_other_tools_lead_to_a_command() {
        for (line, help) in [
            ("windlass push mail hello", "windlass enqueue"),
            ("windlass status", "windlass queue list"),
            ("windlass ps", "windlass workers"),
            ("windlass logs", "windlass tail"),
            ("windlass retry mail 1", "windlass job"),
            ("windlass cron", "windlass schedules put"),
            ("windlass delay", "--delay 1h"),
            ("windlass limit", "windlass groups set"),
            ("windlass list", "windlass queue list"),
            ("windlass exec mail --concurrency 4 true", "-j N"),
            ("windlass serve --port 7700", "--listen"),
            ("windlass job list mail --watch", "windlass tail"),
            ("windlass enqueue mail --payload x", "QUEUE PAYLOAD"),
            ("windlass exec ./send", "QUEUE ./send"),
            ("windlass exec -j 4 /bin/send x", "QUEUE /bin/send"),
        ] {
            let hint = hint(line).unwrap_or_else(|| panic!("{line}"));
            assert!(hint.help.contains(help), "{line}: {}", hint.help);
        }
    }

    #[test]
    fn a_word_of_a_command_or_a_flag_of_windlass_is_in_no_table() {
        let root = command();
        for (words, _) in COMMANDS {
            for word in words {
                assert!(root.find_subcommand(word).is_none(), "{word}");
            }
        }
        assert!(hint("windlass frobnicate").is_none());
        assert!(hint("windlass enqueue ./send").is_none());
    }
}
