//! `windlass interop inspect`: what the older systems have on a server.

use windlass_interop::inspect::{self, Seen};

use crate::exit::{Exit, Result};
use crate::session::Session;

/// Looks, and prints one line per queue.
pub(crate) async fn run(session: &mut Session) -> Result<Exit> {
    let server = super::server(session).await?;
    let seen = inspect::look(&server).await?;
    session.output.result(&seen, |output| {
        if seen.is_empty() {
            output.note("no queue of redis-work-queue, Worqr or Blueque is there");
        }
        let header = ["system", "layout", "prefix", "queue", "waiting", "running"];
        output.table(&header, seen.iter().map(row).collect());
    });
    Ok(Exit::Ok)
}

fn row(seen: &Seen) -> Vec<String> {
    vec![
        seen.system.to_owned(),
        seen.layout.to_owned(),
        seen.prefix.clone().unwrap_or_default(),
        seen.queue.clone().unwrap_or_default(),
        seen.waiting.to_string(),
        seen.running.to_string(),
    ]
}
