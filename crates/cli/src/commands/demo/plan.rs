//! What the demo's jobs are: mostly plain, some delayed, some failing, one that holds its worker.

use std::time::Duration;

use windlass::{Error, NewJob, Priority, Result, RetryPolicy};

/// What a job asks of its worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// Succeed.
    Run,
    /// Fail that many attempts first.
    Fail(u32),
    /// The first time, wait to be killed.
    Hold,
}

impl Ask {
    fn write(self) -> String {
        match self {
            Self::Run => "run".to_owned(),
            Self::Fail(times) => format!("fail {times}"),
            Self::Hold => "hold".to_owned(),
        }
    }

    pub(super) fn read(payload: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(payload);
        let mut words = text.split(' ');
        match (words.next(), words.next().map(str::parse)) {
            (Some("run"), None) => Ok(Self::Run),
            (Some("hold"), None) => Ok(Self::Hold),
            (Some("fail"), Some(Ok(times))) => Ok(Self::Fail(times)),
            _ => Err(Error::invalid(
                "demo job",
                "it asks for nothing known",
                "use the demo's own",
            )),
        }
    }
}

/// The jobs of a run: the same mix every time, in a random order of priorities and delays.
pub(super) fn jobs(count: u32) -> impl Iterator<Item = NewJob> {
    (0..count).map(move |number| {
        let ask = match number {
            _ if number == count / 2 => Ask::Hold,
            _ if number % 500 == 7 => Ask::Fail(u32::MAX),
            _ if number % 20 == 3 => Ask::Fail(1),
            _ => Ask::Run,
        };
        let priority = Priority::new(fastrand::u8(0..=9)).unwrap_or_default();
        let mut retry =
            RetryPolicy::exponential(Duration::from_millis(100), Duration::from_secs(1));
        if ask == Ask::Fail(u32::MAX) {
            retry = retry.max_attempts(2);
        }
        let job = NewJob::new(ask.write()).priority(priority).retry(retry);
        let is_delayed = number % 10 == 5;
        if is_delayed {
            job.delay(Duration::from_millis(fastrand::u64(0..2000)))
        } else {
            job
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_are_read_back_and_one_job_holds() {
        let planned: Vec<_> = jobs(1000).collect();
        let asks: Vec<_> = planned
            .iter()
            .map(|job| Ask::read(&job.payload).unwrap())
            .collect();
        assert_eq!(asks.iter().filter(|ask| **ask == Ask::Hold).count(), 1);
        assert!(asks.contains(&Ask::Fail(1)) && asks.contains(&Ask::Fail(u32::MAX)));
    }
}
