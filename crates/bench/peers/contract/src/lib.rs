//! The command line of every benchmark program, and the line it prints; see the README in `crates/bench/peers`.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Jobs of one bulk call, for every peer that has one.
pub const BULK: usize = 100;

/// The pause before the next job of `pickup`, so that the worker is idle again.
pub const GAP: Duration = Duration::from_millis(10);

/// How often a program checks whether its jobs are done.
pub const GLANCE: Duration = Duration::from_millis(1);

/// The parsed command line.
#[derive(Debug, Clone)]
pub struct Asked {
    pub scenario: String,
    pub url: String,
    pub jobs: usize,
    pub payload: usize,
    pub concurrency: usize,
}

impl Asked {
    /// Parses the command line; exits with 2 if it is invalid.
    pub fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        Self::of(&words).unwrap_or_else(|| {
            eprintln!("usage: SCENARIO --url URL --jobs N --payload BYTES --concurrency N");
            std::process::exit(2)
        })
    }

    fn of(words: &[String]) -> Option<Self> {
        let (scenario, options) = words.split_first()?;
        let find = |name: &str| {
            let at = options.iter().position(|word| word == name)?;
            options.get(at + 1)
        };
        let number = |name: &str| find(name)?.parse().ok();
        Some(Self {
            scenario: scenario.clone(),
            url: find("--url")?.clone(),
            jobs: number("--jobs")?,
            payload: number("--payload")?,
            concurrency: number("--concurrency")?,
        })
    }

    /// The payload of a job: text that starts with its creation time.
    pub fn stamped(&self) -> String {
        let mut text = format!("{:020} ", now_ns());
        text.extend(std::iter::repeat_n(
            'x',
            self.payload.saturating_sub(text.len()),
        ));
        text
    }

    /// The sizes of the bulk calls that make up all jobs.
    pub fn bulks(&self) -> impl Iterator<Item = usize> {
        let jobs = self.jobs;
        (0..jobs)
            .step_by(BULK)
            .map(move |done| BULK.min(jobs - done))
    }

    /// Prints how long all jobs took.
    pub fn tell_rate(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let rate = self.jobs as f64 / seconds;
        println!(
            r#"{{"jobs":{},"seconds":{seconds:.6},"per_s":{rate:.1}}}"#,
            self.jobs
        );
    }
}

/// Prints that the peer has no such call.
pub fn tell_nothing() {
    println!("null");
}

/// The stopwatch of `process`: from the start of the first job to the end of the last.
#[derive(Debug)]
pub struct Clock {
    jobs: usize,
    done: AtomicUsize,
    began: OnceLock<Instant>,
    ended: OnceLock<Instant>,
}

impl Clock {
    pub const fn new(jobs: usize) -> Self {
        Self {
            jobs,
            done: AtomicUsize::new(0),
            began: OnceLock::new(),
            ended: OnceLock::new(),
        }
    }

    /// Called by the handler, once per job.
    pub fn tick(&self) {
        self.began.get_or_init(Instant::now);
        if self.done.fetch_add(1, SeqCst) + 1 == self.jobs {
            self.ended.get_or_init(Instant::now);
        }
    }

    /// How long it took, once all are done.
    pub fn took(&self) -> Option<Duration> {
        Some(*self.ended.get()? - *self.began.get()?)
    }
}

/// What `pickup` measures: from the time in the payload to the start of the handler.
#[derive(Debug, Default)]
pub struct Pickups {
    millis: Mutex<Vec<f64>>,
}

impl Pickups {
    pub const fn new() -> Self {
        Self {
            millis: Mutex::new(Vec::new()),
        }
    }

    /// Called at the start of the handler.
    pub fn note(&self, payload: &str) {
        let now = now_ns();
        let sent = payload
            .get(..20)
            .and_then(|digits| digits.parse::<u128>().ok());
        let waited = now.saturating_sub(sent.unwrap_or(now));
        let mut millis = self.millis.lock().unwrap_or_else(PoisonError::into_inner);
        millis.push(waited as f64 / 1e6);
    }

    pub fn count(&self) -> usize {
        self.millis
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Prints the quantiles.
    pub fn tell(&self) {
        let mut millis = self.millis.lock().unwrap_or_else(PoisonError::into_inner);
        millis.sort_by(f64::total_cmp);
        let at = |quantile: f64| {
            let rank = (quantile * millis.len() as f64).ceil() as usize;
            millis
                .get(rank.saturating_sub(1))
                .copied()
                .unwrap_or_default()
        };
        println!(r#"{{"p50_ms":{:.4},"p99_ms":{:.4}}}"#, at(0.5), at(0.99));
    }
}

fn now_ns() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}
