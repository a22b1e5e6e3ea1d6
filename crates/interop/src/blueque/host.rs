//! The name of this machine, and which processes run on it.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::system::uname;

const HOSTS: &str = "/etc/hosts";

/// Returns the host name that originals on this machine use, according to the hosts file. They resolve
/// the node name to an address, and that address to a name.
pub(super) fn name() -> String {
    let node = uname().nodename().to_string_lossy().into_owned();
    let hosts = std::fs::read_to_string(HOSTS).unwrap_or_default();
    full_name(&node, &hosts)
}

fn full_name(node: &str, hosts: &str) -> String {
    let lines = || {
        hosts
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default())
            .filter_map(|line| {
                let mut fields = line.split_whitespace();
                Some((fields.next()?, fields.collect::<Vec<_>>()))
            })
    };
    let mut addresses = lines().filter(|(_, names)| names.contains(&node));
    let Some((address, _)) = addresses.next() else {
        return node.to_owned();
    };
    let names = lines().find(|(known, _)| *known == address);
    let names = names.map(|(_, names)| names).unwrap_or_default();
    let full = names.iter().find(|name| name.contains('.'));
    full.or(names.first()).map_or(node, |name| *name).to_owned()
}

/// Returns whether a process with this pid runs here, including processes of other users.
pub(super) fn is_running(pid: i64) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}

/// Splits a listener name into host and pid.
pub(super) fn parts(listener: &str) -> Option<(&str, i64)> {
    let (host, pid) = listener.rsplit_once('_')?;
    Some((host, pid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_one_that_originals_use() {
        for (hosts, name) in [
            (
                "127.0.0.1 localhost\n10.0.0.7 web.example.org web",
                "web.example.org",
            ),
            ("127.0.0.1 localhost\n127.0.0.1 web # here", "localhost"),
            ("10.0.0.7 web", "web"),
            ("10.0.0.8 other", "web"),
            ("", "web"),
        ] {
            assert_eq!(full_name("web", hosts), name, "{hosts}");
        }
    }

    #[test]
    fn a_listener_name_has_a_host_and_a_pid() {
        assert_eq!(parts("a_b_12"), Some(("a_b", 12)));
        assert_eq!(parts("ab"), None);
        assert_eq!(parts("a_b"), None);
    }

    #[test]
    fn this_process_runs_and_invalid_pids_do_not() {
        assert!(is_running(std::process::id().into()));
        assert!(!is_running(0));
        assert!(!is_running(i64::MAX));
    }
}
