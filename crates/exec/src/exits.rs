//! What the end of a process means for its job.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use windlass_core::{Due, Error, Result, duration};
use windlass_worker::RetryWhen;

/// What an exit status means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The job is done.
    Done,
    /// The attempt failed.
    Failed(RetryWhen),
    /// Not now, attempt not counted.
    Snooze(Duration),
    /// The program is not there, or cannot be run: that is no fault of the job's.
    Missing,
}

/// The statuses whose meaning was changed; all others mean what is usual.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitMap(BTreeMap<u8, Verdict>);

impl ExitMap {
    /// Reads `3=permanent,9=retry:10m`; each text may hold several, and each status stands once.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self> {
        let mut map = BTreeMap::new();
        for text in texts.iter().flat_map(|text| text.as_ref().split(',')) {
            let (code, word) = text
                .split_once('=')
                .ok_or_else(|| bad(text, "it has no ="))?;
            let code: u8 = code
                .trim()
                .parse()
                .map_err(|_| bad(text, "the status is not a number from 0 to 255"))?;
            if map.insert(code, verdict(text, word.trim())?).is_some() {
                return Err(bad(text, "the status stands twice"));
            }
        }
        Ok(Self(map))
    }

    /// What an exit status means.
    pub fn verdict(&self, code: i32) -> Verdict {
        let changed = u8::try_from(code).ok().and_then(|code| self.0.get(&code));
        changed.copied().unwrap_or_else(|| usual(code))
    }
}

/// As in `sysexits.h`: its codes say that the job itself is wrong, but for 75, which asks for
/// another try.
fn usual(code: i32) -> Verdict {
    match code {
        0 => Verdict::Done,
        64..=74 | 76..=78 => Verdict::Failed(RetryWhen::Never),
        126 | 127 => Verdict::Missing,
        _ => Verdict::Failed(RetryWhen::ByPolicy),
    }
}

fn verdict(text: &str, word: &str) -> Result<Verdict> {
    let (word, time) = match word.split_once(':') {
        Some((word, time)) => (word, Some(duration::parse(time)?)),
        None => (word, None),
    };
    match (word, time) {
        ("done", None) => Ok(Verdict::Done),
        ("permanent", None) => Ok(Verdict::Failed(RetryWhen::Never)),
        ("retry", None) => Ok(Verdict::Failed(RetryWhen::ByPolicy)),
        ("retry", Some(delay)) => Ok(Verdict::Failed(RetryWhen::At(Due::After(delay)))),
        ("snooze", Some(delay)) => Ok(Verdict::Snooze(delay)),
        _ => Err(bad(text, "the meaning is unknown")),
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

/// How a process ended, for people.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}{}", signal_name(signal)),
        (None, None) => "it ended in an unknown way".to_owned(),
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
        assert_eq!(map.verdict(0), Verdict::Done);
        for code in [1, 2, 63, 75, 79, 125, 128, 255] {
            assert_eq!(
                map.verdict(code),
                Verdict::Failed(RetryWhen::ByPolicy),
                "{code}"
            );
        }
        for code in (64..=78).filter(|code| *code != 75) {
            assert_eq!(map.verdict(code), Verdict::Failed(RetryWhen::Never), "{code}");
        }
        for code in [126, 127] {
            assert_eq!(map.verdict(code), Verdict::Missing, "{code}");
        }
    }

    #[test]
    fn a_status_may_be_given_another_meaning() {
        let map = ExitMap::parse(&["3=permanent,9=retry:10m", "0=retry", "64=done"]).unwrap();
        let later = RetryWhen::At(Due::After(Duration::from_secs(600)));
        assert_eq!(map.verdict(3), Verdict::Failed(RetryWhen::Never));
        assert_eq!(map.verdict(9), Verdict::Failed(later));
        assert_eq!(map.verdict(0), Verdict::Failed(RetryWhen::ByPolicy));
        assert_eq!(map.verdict(64), Verdict::Done);
        assert_eq!(map.verdict(65), Verdict::Failed(RetryWhen::Never));
    }

    #[test]
    fn a_bad_meaning_is_refused() {
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
