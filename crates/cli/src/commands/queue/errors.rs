//! `windlass queue errors` and `windlass queue clear-error`.

use windlass::duration;
use windlass::store::{Clock, SystemClock, Timestamp};
use windlass_api::request::{ClearErrorReply, ErrorsReply};
use windlass_api::{ErrorGroupReply, timestamp};

use crate::commands::verb::Print;
use crate::output::Output;

impl Print for ErrorsReply {
    fn print(&self, output: &mut Output) {
        if self.errors.is_empty() {
            output.note("no errors");
        }
        let now = Timestamp::from_ms(SystemClock.now_us() / 1000);
        let row = |group: &ErrorGroupReply| {
            vec![
                group.fingerprint.clone(),
                group.count.to_string(),
                group.hours.iter().sum::<u64>().to_string(),
                ago(&group.first_seen, now),
                ago(&group.last_seen, now),
                group.kind.clone().unwrap_or_default(),
                group.message.clone(),
            ]
        };
        let header = [
            "fingerprint",
            "count",
            "24h",
            "first",
            "last",
            "kind",
            "message",
        ];
        output.flexible_table(&header, self.errors.iter().map(row).collect(), 1);
    }
}

impl Print for ClearErrorReply {
    fn print(&self, output: &mut Output) {
        output.line("cleared");
    }
}

/// How long ago a time was.
fn ago(at: &str, now: Timestamp) -> String {
    let at = timestamp::parse(at).unwrap_or(now);
    format!("{} ago", duration::short(now.since(at)))
}
