//! The step `redis`: tests start Redis servers of their own, so there must be one to start.
//!
//! Where there is none it is installed, if the package manager of the system can; a test that
//! needs it is never passed over.

use std::io::ErrorKind;
use std::process::Command;

use crate::packages::{self, Wanted};

/// What to do when the step failed.
pub(super) const NEXT: &str = "install Redis 7.0 or later (`apt-get install redis-server`, \
                               `brew install redis`) or Valkey, or name one: \
                               `WINDLASS_REDIS_SERVER=/path/to/redis-server cargo xtask check`";

/// Names the server to use, in the tests as well.
const PROGRAM: &str = "WINDLASS_REDIS_SERVER";

/// What is looked for, in this order; the tests do the same.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// The oldest server the store works on: major and minor version.
const OLDEST: (u32, u32) = (7, 0);

/// The packages that bring one.
const SERVER: Wanted = Wanted {
    what: "Redis server",
    apt: &["redis-server"],
    brew: &["redis"],
};

/// Makes sure of a server that is new enough; says why there is none.
pub(super) fn ensure() -> Result<(), String> {
    let named = std::env::var(PROGRAM).ok();
    let programs = named.as_deref().map_or(PROGRAMS.to_vec(), |one| vec![one]);
    if let Some(banner) = find(&programs)? {
        return judge(&banner);
    }
    if let Some(program) = named {
        return Err(format!("`{program}`, named by {PROGRAM}, does not exist"));
    }
    println!("neither `{}` is installed", PROGRAMS.join("` nor `"));
    packages::install(&SERVER)?;
    match find(&programs)? {
        Some(banner) => judge(&banner),
        None => Err("it was installed, but `redis-server` is still not on the PATH".to_owned()),
    }
}

/// What the first of these programs that exists says of its version.
fn find(programs: &[&str]) -> Result<Option<String>, String> {
    for program in programs {
        match Command::new(program).arg("--version").output() {
            Ok(output) => return Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(format!("`{program} --version` could not start: {error}")),
        }
    }
    Ok(None)
}

/// Prints what was found, and refuses what is too old.
fn judge(banner: &str) -> Result<(), String> {
    let banner = banner.trim();
    println!("{banner}");
    let (major, minor) = OLDEST;
    match version(banner) {
        Some(found) if found >= OLDEST => Ok(()),
        Some(_) => Err(format!(
            "the server is older than {major}.{minor}: {banner}"
        )),
        None => Err(format!("no version is to be read in: {banner}")),
    }
}

/// The version in `Redis server v=7.0.15 sha=…`.
fn version(banner: &str) -> Option<(u32, u32)> {
    let mut words = banner.split_whitespace();
    let mut numbers = words.find_map(|word| word.strip_prefix("v="))?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_too_old_is_refused() {
        assert!(judge("Redis server v=7.0.15 sha=00000000:0 bits=64").is_ok());
        assert!(judge("Valkey server v=8.1.1 sha=00000000:0 bits=64").is_ok());
        assert!(judge("Redis server v=10.0.0 sha=00000000:0").is_ok());
        let refused = judge("Redis server v=6.2.14 sha=00000000:0");
        assert!(refused.is_err_and(|why| why.contains("older than 7.0")));
        assert!(judge("something else").is_err());
    }

    #[test]
    fn a_program_that_is_not_there_is_no_error_yet() {
        assert_eq!(find(&["no-such-program-anywhere"]), Ok(None));
    }
}
