//! Maps the exit status of a process to the outcome of its job.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use windlass_core::{Due, Error, Result, duration};
use windlass_worker::RetryWhen;

/// What an exit status means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitMeaning {
    /// The job is done.
    Done,
    /// The attempt failed.
    Failed(RetryWhen),
    /// Run the job again after the delay; the attempt does not count.
    Snooze(Duration),
    /// The program does not exist or cannot be run.
    Missing,
}

/// Exit statuses with a configured meaning; all others have the default one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitMap(BTreeMap<u8, ExitMeaning>);

impl ExitMap {
    /// Parses `3=permanent,9=retry:10m`. Each text may hold several entries; each status may occur once.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self> {
        let mut map = BTreeMap::new();
        for text in texts.iter().flat_map(|text| text.as_ref().split(',')) {
            let (code, meaning) = text.split_once('=').ok_or_else(|| bad(text, "missing ="))?;
            let code: u8 = code
                .trim()
                .parse()
                .map_err(|_| bad(text, "the status is not a number from 0 to 255"))?;
            if map
                .insert(code, parse_meaning(text, meaning.trim())?)
                .is_some()
            {
                return Err(bad(text, "duplicate status"));
            }
        }
        Ok(Self(map))
    }

    /// What an exit status means for the job.
    pub fn meaning(&self, code: i32) -> ExitMeaning {
        let changed = u8::try_from(code).ok().and_then(|code| self.0.get(&code));
        changed.copied().unwrap_or_else(|| default_meaning(code))
    }
}

/// As in `sysexits.h`: its codes mean that a retry cannot help, except 75, which asks for a
/// retry.
fn default_meaning(code: i32) -> ExitMeaning {
    match code {
        0 => ExitMeaning::Done,
        64..=74 | 76..=78 => ExitMeaning::Failed(RetryWhen::Never),
        126 | 127 => ExitMeaning::Missing,
        _ => ExitMeaning::Failed(RetryWhen::ByPolicy),
    }
}

fn parse_meaning(text: &str, meaning: &str) -> Result<ExitMeaning> {
    let (name, delay) = match meaning.split_once(':') {
        Some((name, delay)) => (name, Some(duration::parse(delay)?)),
        None => (meaning, None),
    };
    match (name, delay) {
        ("done", None) => Ok(ExitMeaning::Done),
        ("permanent", None) => Ok(ExitMeaning::Failed(RetryWhen::Never)),
        ("retry", None) => Ok(ExitMeaning::Failed(RetryWhen::ByPolicy)),
        ("retry", Some(delay)) => Ok(ExitMeaning::Failed(RetryWhen::At(Due::After(delay)))),
        ("snooze", Some(delay)) => Ok(ExitMeaning::Snooze(delay)),
        _ => Err(bad(text, "unknown meaning")),
    }
}

fn bad(text: &str, why: &str) -> Error {
    let short: String = text.chars().take(40).collect();
    Error::invalid(
        "meaning of an exit status",
        format!("{why}: {short:?}"),
        "write STATUS=MEANING with done, permanent, retry, retry:10m or snooze:10m, \
        for example 3=permanent,9=retry:10m",
    )
}

/// Describes how a process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}{}", signal_name(signal)),
        (None, None) => "unknown exit status".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    use rustix::process::Signal;
    let names = [
        (Signal::HUP, "HUP"),
        (Signal::INT, "INT"),
        (Signal::QUIT, "QUIT"),
        (Signal::ILL, "ILL"),
        (Signal::TRAP, "TRAP"),
        (Signal::ABORT, "ABRT"),
        (Signal::BUS, "BUS"),
        (Signal::FPE, "FPE"),
        (Signal::KILL, "KILL"),
        (Signal::USR1, "USR1"),
        (Signal::SEGV, "SEGV"),
        (Signal::USR2, "USR2"),
        (Signal::PIPE, "PIPE"),
        (Signal::ALARM, "ALRM"),
        (Signal::TERM, "TERM"),
        (Signal::XCPU, "XCPU"),
        (Signal::XFSZ, "XFSZ"),
    ];
    names
        .iter()
        .find(|(known, _)| known.as_raw() == signal)
        .map_or(String::new(), |(_, name)| format!(" (SIG{name})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_exit_status_has_its_meaning() {
        let map = ExitMap::default();
        assert_eq!(map.meaning(0), ExitMeaning::Done);
        for code in [1, 2, 63, 75, 79, 125, 128, 255] {
            assert_eq!(
                map.meaning(code),
                ExitMeaning::Failed(RetryWhen::ByPolicy),
                "{code}"
            );
        }
        for code in (64..=78).filter(|code| *code != 75) {
            assert_eq!(
                map.meaning(code),
                ExitMeaning::Failed(RetryWhen::Never),
                "{code}"
            );
        }
        for code in [126, 127] {
            assert_eq!(map.meaning(code), ExitMeaning::Missing, "{code}");
        }
    }

    #[test]
    fn the_meaning_of_a_status_can_be_changed() {
        let map = ExitMap::parse(&["3=permanent,9=retry:10m", "0=retry", "64=done"]).unwrap();
        let later = RetryWhen::At(Due::After(Duration::from_secs(600)));
        assert_eq!(map.meaning(3), ExitMeaning::Failed(RetryWhen::Never));
        assert_eq!(map.meaning(9), ExitMeaning::Failed(later));
        assert_eq!(map.meaning(0), ExitMeaning::Failed(RetryWhen::ByPolicy));
        assert_eq!(map.meaning(64), ExitMeaning::Done);
        assert_eq!(map.meaning(65), ExitMeaning::Failed(RetryWhen::Never));
    }

    #[test]
    fn a_bad_meaning_is_rejected() {
        for text in [
            "",
            "3",
            "3=",
            "3=maybe",
            "256=done",
            "-1=done",
            "x=done",
            "3=done:1s",
            "3=snooze",
            "3=retry:soon",
            "3=done,3=permanent",
            "3=done,",
        ] {
            assert!(ExitMap::parse(&[text]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_signal_is_named() {
        assert_eq!(
            describe(ExitStatus::from_raw(9)),
            "killed by signal 9 (SIGKILL)"
        );
        assert_eq!(describe(ExitStatus::from_raw(3 << 8)), "exit status 3");
    }
}
