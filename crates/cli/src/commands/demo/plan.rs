//! The jobs of the demo: most succeed, some are delayed, some fail, and one blocks its worker.

use std::time::Duration;

use windlass::{Error, NewJob, Priority, Result, RetryPolicy};

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Succeeds.
    Run,
    /// Fails this many attempts first.
    Fail(u32),
    /// Blocks on its first attempt until the worker is killed.
    Block,
}

impl Behaviour {
    fn write(self) -> String {
        match self {
            Self::Run => "run".to_owned(),
            Self::Fail(times) => format!("fail {times}"),
            Self::Block => "block".to_owned(),
        }
    }

    pub(super) fn read(payload: &[u8]) -> Result<Self> {
        let text = String::from_utf8_lossy(payload);
        let mut words = text.split(' ');
        match (words.next(), words.next().map(str::parse)) {
            (Some("run"), None) => Ok(Self::Run),
            (Some("block"), None) => Ok(Self::Block),
            (Some("fail"), Some(Ok(times))) => Ok(Self::Fail(times)),
            _ => Err(Error::invalid(
                "demo job",
                "its payload is unknown",
                "run `windlass demo`, which creates its own jobs",
            )),
        }
    }
}

/// Returns the jobs of a run: always the same mix, with random priorities and delays.
pub(super) fn jobs(count: u32) -> impl Iterator<Item = NewJob> {
    (0..count).map(move |number| {
        let behaviour = match number {
            _ if number == count / 2 => Behaviour::Block,
            _ if number % 500 == 7 => Behaviour::Fail(u32::MAX),
            _ if number % 20 == 3 => Behaviour::Fail(1),
            _ => Behaviour::Run,
        };
        let priority = Priority::new(fastrand::u8(0..=9)).unwrap_or_default();
        let mut retry =
            RetryPolicy::exponential(Duration::from_millis(100), Duration::from_secs(1));
        if behaviour == Behaviour::Fail(u32::MAX) {
            retry = retry.max_attempts(2);
        }
        let job = NewJob::new(behaviour.write())
            .priority(priority)
            .retry(retry);
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
    fn behaviours_are_read_back_and_one_job_blocks() {
        let planned: Vec<_> = jobs(1000).collect();
        let behaviours: Vec<_> = planned
            .iter()
            .map(|job| Behaviour::read(&job.payload).unwrap())
            .collect();
        let blocking = behaviours.iter().filter(|it| **it == Behaviour::Block);
        assert_eq!(blocking.count(), 1);
        assert!(
            behaviours.contains(&Behaviour::Fail(1))
                && behaviours.contains(&Behaviour::Fail(u32::MAX))
        );
    }
}
