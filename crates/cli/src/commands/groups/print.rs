//! Groups as text.

use windlass::duration;
use windlass::store::{Clock, SystemClock, Timestamp};
use windlass_api::{GroupReply, timestamp};

use crate::commands::verb::Print;
use crate::output::Output;

impl Print for Vec<GroupReply> {
    fn print(&self, output: &mut Output) {
        if self.is_empty() {
            output
                .note("no groups; `windlass enqueue QUEUE PAYLOAD --group NAME` adds a job to one");
        }
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let row = |group: &GroupReply| {
            vec![
                group.group.clone(),
                group.ready.to_string(),
                slots(group),
                rate(group).unwrap_or_default(),
                state(group, now),
            ]
        };
        let header = ["group", "ready", "slots", "rate", "state"];
        output.table(&header, self.iter().map(row));
    }
}

impl Print for GroupReply {
    fn print(&self, output: &mut Output) {
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let own = &self.own;
        let own = [
            ("max_running", &own.max_running),
            ("rate", &own.rate),
            ("burst", &own.burst),
        ];
        let own = own.iter().filter(|(_, value)| *value != "default");
        let own: Vec<_> = own.map(|(name, value)| format!("{name}={value}")).collect();
        output.fields(vec![
            ("group", Some(self.group.clone())),
            ("queue", Some(self.queue.clone())),
            ("state", Some(state(self, now))),
            ("ready", Some(self.ready.to_string())),
            ("slots", Some(slots(self))),
            ("rate", rate(self)),
            ("opens", self.opens_at.clone()),
            ("resting until", self.resting_until.clone()),
            ("own limits", (!own.is_empty()).then(|| own.join(" "))),
        ]);
    }
}

/// The slots in use and the limit.
fn slots(group: &GroupReply) -> String {
    match group.max_running {
        Some(max) => format!("{}/{max}", group.running),
        None => group.running.to_string(),
    }
}

fn rate(group: &GroupReply) -> Option<String> {
    let rate = group.rate.as_ref()?;
    Some(match group.burst {
        Some(burst) if burst > 1 => format!("{rate} burst {burst}"),
        _ => rate.clone(),
    })
}

/// What keeps a job of the group from starting, the longest first.
fn state(group: &GroupReply, now: Timestamp) -> String {
    let left = |at: &Option<String>| {
        let at = timestamp::parse(at.as_deref()?).ok()?;
        Some(duration::short(at.since(now)))
    };
    if group.paused {
        return "paused".to_owned();
    }
    if let Some(rest) = left(&group.resting_until) {
        return format!("resting for {rest}");
    }
    if let Some(closed) = left(&group.opens_at) {
        return format!("closed for {closed}");
    }
    let is_full = group
        .max_running
        .is_some_and(|max| group.running >= u64::from(max));
    if is_full { "full" } else { "ok" }.to_owned()
}

#[cfg(test)]
mod tests {
    use windlass::QueueName;
    use windlass::store::{GroupLimits, GroupName, GroupRecord, OwnLimit, Settings};

    use super::*;

    #[test]
    fn the_state_says_what_keeps_jobs_from_starting() {
        let now = Timestamp::from_ms(1_000);
        let later = Some(Timestamp::from_ms(31_000));
        let mut record = GroupRecord {
            name: GroupName::new("acme").unwrap(),
            ready: 1,
            slots: 0,
            is_paused: false,
            resting_until: None,
            opens_at: None,
            limits: GroupLimits {
                max_running: OwnLimit::At(2),
                ..GroupLimits::default()
            },
        };
        let state = |record: &GroupRecord| {
            let queue = QueueName::new("q").unwrap();
            state(&GroupReply::new(&queue, record, &Settings::default()), now)
        };

        assert_eq!(state(&record), "ok");
        record.slots = 2;
        assert_eq!(state(&record), "full");
        record.opens_at = later;
        assert_eq!(state(&record), "closed for 30s");
        record.resting_until = later;
        assert_eq!(state(&record), "resting for 30s");
        record.is_paused = true;
        assert_eq!(state(&record), "paused");
    }
}
