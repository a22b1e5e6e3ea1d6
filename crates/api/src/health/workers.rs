//! The workers: whether they are alive and run the same version of Windlass.

use windlass_core::store::WorkerRecord;

use super::Check;

/// Workers named in a message.
const NAMED_MAX: usize = 3;

/// Checks all registered workers.
pub(super) fn examine(workers: &[WorkerRecord], checks: &mut Vec<Check>) {
    let (silent, alive): (Vec<&WorkerRecord>, Vec<&WorkerRecord>) =
        workers.iter().partition(|worker| worker.is_silent());
    checks.push(presence(&silent, alive.len()));
    checks.extend(version(&alive));
}

fn presence(silent: &[&WorkerRecord], alive: usize) -> Check {
    let Some(first) = silent.first() else {
        return Check::ok("workers", format!("{alive} alive"));
    };
    let names = silent.iter().map(|worker| worker.new.boot.to_string());
    let message = format!(
        "{alive} alive, {} without a heartbeat for a minute or more: {}",
        silent.len(),
        few(names.collect())
    );
    let fix = format!(
        "restart them if they have exited; their jobs return to the queue when the leases expire, or now with \
         `windlass workers fail {}`",
        first.new.boot
    );
    Check::warn("workers", message, fix)
}

/// Returns nothing if no worker reports a version of Windlass: clients may report any text.
fn version(alive: &[&WorkerRecord]) -> Option<Check> {
    let ours = env!("CARGO_PKG_VERSION");
    let known = alive
        .iter()
        .filter(|worker| is_version(&worker.new.version));
    let known: Vec<_> = known.collect();
    let others = known.iter().filter(|worker| worker.new.version != ours);
    let others = others.map(|worker| format!("{} {}", worker.new.boot, worker.new.version));
    let others: Vec<_> = others.collect();
    if known.is_empty() {
        return None;
    }
    Some(if others.is_empty() {
        Check::ok(
            "version",
            format!("all workers run {ours}, like this program"),
        )
    } else {
        Check::warn(
            "version",
            format!(
                "{} of {} workers run a different version from this program ({ours}): {}",
                others.len(),
                known.len(),
                few(others)
            ),
            "ignore this during an upgrade; otherwise restart them with the current version",
        )
    })
}

fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

fn few(mut names: Vec<String>) -> String {
    if names.len() > NAMED_MAX {
        names.truncate(NAMED_MAX);
        names.push("…".to_owned());
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::sample;
    use super::*;

    fn worker(name: &str, version: &str, is_silent: bool) -> WorkerRecord {
        let mut worker = sample::worker(name);
        version.clone_into(&mut worker.new.version);
        worker.silent_for = Duration::from_secs(if is_silent { 60 } else { 0 });
        worker
    }

    fn statuses(workers: &[WorkerRecord]) -> Vec<String> {
        let mut checks = Vec::new();
        examine(workers, &mut checks);
        let seen = checks.iter();
        seen.map(|check| format!("{} {:?}", check.name, check.status))
            .collect()
    }

    #[test]
    fn only_a_version_of_windlass_is_compared() {
        let ours = worker("a", env!("CARGO_PKG_VERSION"), false);
        let old = worker("b", "0.0.0", false);
        let theirs = || worker("c", "custom 3", false);
        let gone = worker("d", "0.0.0", true);

        assert_eq!(statuses(&[]), ["workers Ok"]);
        assert_eq!(statuses(&[theirs()]), ["workers Ok"]);
        let same = statuses(&[ours.clone(), theirs()]);
        assert_eq!(same, ["workers Ok", "version Ok"]);
        assert_eq!(statuses(&[ours, old]), ["workers Ok", "version Warn"]);
        assert_eq!(statuses(&[gone]), ["workers Warn"]);
    }

    #[test]
    fn a_message_names_a_few() {
        let names = |count: u8| (0..count).map(|n| n.to_string()).collect();
        assert_eq!(few(names(3)), "0, 1, 2");
        assert_eq!(few(names(9)), "0, 1, 2, …");
    }
}
