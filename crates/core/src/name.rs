//! Names and ids, validated when created.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::time::{Clock, SystemClock};

/// The maximum length of a name in bytes.
pub const NAME_BYTES_MAX: usize = 128;

/// The maximum length of the name of a schedule in bytes.
pub const SCHEDULE_NAME_BYTES_MAX: usize = 100;

/// Defines a validated text type. Names are compared, ordered and printed as text.
macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Creates a name; fails if `text` is invalid.
            pub fn new(text: impl AsRef<str>) -> Result<Self, Error> {
                let text = text.as_ref();
                $check($what, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                Self::new(text)
            }
        }
    };
}

name! {
    /// The name of a queue: `[A-Za-z0-9._:-]{1,128}`.
    ///
    /// ```
    /// # use windlass_core as windlass;
    /// use windlass::QueueName;
    ///
    /// assert_eq!(QueueName::new("mail")?.as_str(), "mail");
    /// assert!("a b".parse::<QueueName>().is_err());
    /// # Ok::<(), windlass::Error>(())
    /// ```
    QueueName, "queue name", check_queue_name
}

name! {
    /// The id of a job within its queue: 1 to 128 bytes of UTF-8 without control characters.
    ///
    /// ```
    /// # use windlass_core as windlass;
    /// use windlass::JobId;
    ///
    /// assert!(JobId::generate() < JobId::generate()); // ids increase
    /// assert_eq!(JobId::new("letter-1")?.as_str(), "letter-1");
    /// # Ok::<(), windlass::Error>(())
    /// ```
    JobId, "job id", check_text
}

name! {
    /// The name of a schedule in its queue: like the name of a queue, at most 100 bytes, because the ids of
    /// its jobs add the instant.
    ScheduleName, "schedule name", check_schedule_name
}

name! {
    /// The kind of a job, which selects the handler in a worker.
    Kind, "kind", check_text
}

name! {
    /// The name of a group of jobs in a queue: like a job id.
    GroupName, "group name", check_text
}

name! {
    /// A key that at most one unfinished job in a queue can have.
    UniqueKey, "unique key", check_text
}

name! {
    /// The id of one run of a worker process. A restarted worker gets a new one.
    BootId, "worker id", check_text
}

impl JobId {
    /// Returns a new ULID in lower case. The ids of one process increase, even within a millisecond.
    pub fn generate() -> Self {
        static GENERATOR: Mutex<Option<ulid::Ulid>> = Mutex::new(None);
        let mut last = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = SystemClock.now_us() / 1000;
        let next = match *last {
            // The clock did not advance: increment, so that the next id sorts after the last.
            Some(last) if last.timestamp_ms() >= now_ms => last.increment().unwrap_or(last),
            _ => {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes).expect("the system provides random numbers");
                ulid::Ulid::from_parts(now_ms, u128::from_ne_bytes(bytes))
            }
        };
        *last = Some(next);
        drop(last);
        let mut text = [0; ulid::ULID_LEN];
        let text = next.array_to_str(&mut text);
        text.make_ascii_lowercase();
        Self(Arc::from(&*text))
    }
}

impl BootId {
    /// Returns a new random id.
    pub fn generate() -> Self {
        Self(Arc::from(format!("{:016x}", random())))
    }
}

/// Returns a random number from the operating system: a generator seeded by the clock could return
/// the same number in two processes.
pub(crate) fn random() -> u64 {
    getrandom::u64().expect("the system provides random numbers")
}

fn check_queue_name(what: &'static str, text: &str) -> Result<(), Error> {
    check_length(what, text)?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    match text.chars().find(|c| !is_allowed(*c)) {
        None => Ok(()),
        Some(bad) => Err(Error::invalid(
            what,
            format!("{bad:?} is not allowed"),
            "use letters, digits, dot, underscore, colon and hyphen",
        )),
    }
}

fn check_schedule_name(what: &'static str, text: &str) -> Result<(), Error> {
    check_queue_name(what, text)?;
    if text.len() > SCHEDULE_NAME_BYTES_MAX {
        let why = format!("{} bytes is too long", text.len());
        return Err(Error::invalid(what, why, "use at most 100 bytes"));
    }
    Ok(())
}

fn check_text(what: &'static str, text: &str) -> Result<(), Error> {
    check_length(what, text)?;
    match text.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(bad) => Err(Error::invalid(
            what,
            format!("control character {bad:?} is not allowed"),
            "remove control characters",
        )),
    }
}

fn check_length(what: &'static str, text: &str) -> Result<(), Error> {
    let help = "use 1 to 128 bytes";
    if text.is_empty() {
        return Err(Error::invalid(what, "must not be empty", help));
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(Error::invalid(
            what,
            format!("{} bytes is too long; maximum {NAME_BYTES_MAX}", text.len()),
            help,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_name_accepts_only_its_alphabet() {
        for good in ["a", "mail.out_1:eu-west", &"q".repeat(128)] {
            assert!(QueueName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a{b}", "naïve", "a\n", "a*", &"q".repeat(129)] {
            assert!(QueueName::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_id_accepts_any_text_without_control_characters() {
        for good in ["räksmörgås", "a b", "{}", &"é".repeat(64)] {
            assert!(JobId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a\0", "a\u{7f}", "a\u{85}", &"é".repeat(65)] {
            assert!(JobId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn generated_ids_increase_and_are_lower_case_ulids() {
        let ids: Vec<_> = (0..1000).map(|_| JobId::generate()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.iter().all(|id| id.as_str().len() == 26));
        assert!(
            ids.iter()
                .all(|id| id.as_str().to_ascii_lowercase() == id.as_str())
        );
    }
}
