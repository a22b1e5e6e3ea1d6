//! What this machine is called, and which processes run on it.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::system::uname;

/// Where names of machines are written down.
const HOSTS: &str = "/etc/hosts";

/// The name by which originals on this machine know it, as far as the file of hosts says: they ask
/// the resolver for the address of the machine's name, and for the name of that address.
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
                let mut words = line.split_whitespace();
                Some((words.next()?, words.collect::<Vec<_>>()))
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

/// Whether a process of this number runs here. One that is not ours to signal runs as well.
pub(super) fn is_running(pid: i64) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| matches!(test_kill_process(pid), Ok(()) | Err(Errno::PERM)))
}

/// The two parts of a listener's name.
pub(super) fn parts(listener: &str) -> Option<(&str, i64)> {
    let (host, pid) = listener.rsplit_once('_')?;
    Some((host, pid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_one_that_originals_find() {
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
    fn a_listener_has_a_host_and_a_number() {
        assert_eq!(parts("a_b_12"), Some(("a_b", 12)));
        assert_eq!(parts("ab"), None);
        assert_eq!(parts("a_b"), None);
    }

    #[test]
    fn this_process_runs_and_none_has_a_number_below_one() {
        assert!(is_running(std::process::id().into()));
        assert!(!is_running(0));
        assert!(!is_running(i64::MAX));
    }
}
