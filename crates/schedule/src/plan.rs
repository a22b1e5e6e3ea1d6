//! The instants of a rule: of its cron pattern or interval, within its bounds.

use windlass_core::store::{PlannedInstant, Rule, Times};
use windlass_core::time::as_ms;
use windlass_core::{Result, ScheduleName, Timestamp};

use crate::parse::CronPattern;

/// Computes the instants of a rule.
///
/// ```
/// use windlass_core::Timestamp;
/// use windlass_core::store::Rule;
/// use windlass_schedule::Plan;
///
/// let plan = Plan::new(&Rule::cron("0 6 * * 1", "Europe/Berlin")?)?;
/// let mondays: Vec<Timestamp> = plan.after(Timestamp::from_ms(0)).take(3).collect();
/// assert_eq!(mondays[1].since(mondays[0]).as_secs(), 7 * 24 * 60 * 60);
/// # Ok::<(), windlass_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    rule: Rule,
    /// `None` for an interval.
    cron: Option<CronPattern>,
}

impl Plan {
    /// Parses the rule.
    ///
    /// # Errors
    ///
    /// Returns an error if its cron pattern or time zone is invalid.
    pub fn new(rule: &Rule) -> Result<Self> {
        let cron = match &rule.times {
            Times::Cron { pattern, zone } => Some(CronPattern::parse(pattern, zone)?),
            Times::Every { .. } => None,
        };
        let rule = rule.clone();
        Ok(Self { rule, cron })
    }

    /// The time from which there are instants.
    pub(crate) fn from(&self) -> Timestamp {
        self.rule.from.unwrap_or_default()
    }

    pub(crate) const fn cron(&self) -> Option<&CronPattern> {
        self.cron.as_ref()
    }

    /// Returns the instants after this time, in order.
    pub fn after(&self, time: Timestamp) -> impl Iterator<Item = Timestamp> {
        let from = self.rule.from.map_or(0, Timestamp::as_ms);
        let after = Timestamp::from_ms(time.as_ms().max(from.saturating_sub(1)));
        let every = match self.rule.times {
            Times::Every { period, anchor } => Some(every(as_ms(period), anchor.as_ms(), after)),
            Times::Cron { .. } => None,
        };
        let cron = self.cron.as_ref().map(|cron| cron.after(after));
        let until = self.rule.until;
        let instants = every
            .into_iter()
            .flatten()
            .chain(cron.into_iter().flatten());
        instants.take_while(move |at| until.is_none_or(|until| *at <= until))
    }

    /// Returns an instant with the jitter that every process computes for it.
    pub fn planned(&self, name: &ScheduleName, at: Timestamp) -> PlannedInstant {
        let longest = as_ms(self.rule.jitter);
        let jitter = if longest == 0 {
            0
        } else {
            hash(name, at) % (longest + 1)
        };
        let jitter = std::time::Duration::from_millis(jitter);
        PlannedInstant { at, jitter }
    }
}

/// The multiples of a period, counted from an anchor, after a time.
fn every(period: u64, anchor: u64, after: Timestamp) -> impl Iterator<Item = Timestamp> {
    let phase = anchor % period;
    let first = match after.as_ms().checked_sub(phase) {
        Some(since) => phase + (since / period + 1) * period,
        None => phase,
    };
    (0..).map_while(move |n: u64| {
        let at = n.checked_mul(period)?.checked_add(first)?;
        Some(Timestamp::from_ms(at))
    })
}

/// FNV-1a of the name and the second: the same on every machine and in every version.
fn hash(name: &ScheduleName, at: Timestamp) -> u64 {
    let second = (at.as_ms() / 1000).to_le_bytes();
    let bytes = name.as_str().bytes().chain(second);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The low bits of FNV mix badly for short inputs.
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seconds(plan: &Plan, after: u64, count: usize) -> Vec<u64> {
        let instants = plan.after(Timestamp::from_ms(after * 1000)).take(count);
        instants.map(|at| at.as_ms() / 1000).collect()
    }

    #[test]
    fn an_interval_keeps_its_phase() {
        let mut rule = Rule::every(Duration::from_secs(90)).expect("valid");
        let plan = |rule: &Rule| Plan::new(rule).expect("valid");
        assert_eq!(seconds(&plan(&rule), 0, 3), [90, 180, 270]);
        assert_eq!(seconds(&plan(&rule), 89, 1), [90]);
        rule.times = Times::Every {
            period: Duration::from_secs(90),
            anchor: Timestamp::from_ms(100_000),
        };
        assert_eq!(seconds(&plan(&rule), 0, 3), [10, 100, 190]);
        assert_eq!(seconds(&plan(&rule), 100, 1), [190]);
    }

    #[test]
    fn the_bounds_are_inclusive() {
        let mut rule = Rule::every(Duration::from_secs(10)).expect("valid");
        rule.from = Some(Timestamp::from_ms(20_000));
        rule.until = Some(Timestamp::from_ms(40_000));
        let plan = Plan::new(&rule).expect("valid");
        assert_eq!(seconds(&plan, 0, 9), [20, 30, 40]);
        assert_eq!(seconds(&plan, 30, 9), [40]);
    }

    #[test]
    fn jitter_is_the_same_for_every_process_and_spread_out() {
        let mut rule = Rule::every(Duration::from_secs(10)).expect("valid");
        rule.jitter = Duration::from_secs(5);
        let plan = Plan::new(&rule).expect("valid");
        let name = |text: &str| ScheduleName::new(text).expect("valid");
        let at = Timestamp::from_ms(1_774_000_000_000);

        assert_eq!(plan.planned(&name("nightly"), at).jitter.as_millis(), 3384);
        let names = (0..1000).map(|n| name(&format!("s{n}")));
        let jitters: Vec<_> = names.map(|name| plan.planned(&name, at).jitter).collect();
        assert!(jitters.iter().all(|jitter| *jitter <= rule.jitter));
        let early = jitters.iter().filter(|jitter| jitter.as_millis() < 2500);
        assert!((400..600).contains(&early.count()));
    }
}
