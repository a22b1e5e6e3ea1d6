//! `windlass interop inspect`: lists the queues of the older systems on a server.

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

use super::print;
use crate::inspect::{self, FoundQueue};

/// Prints one line per queue.
pub(super) async fn run(session: &mut Session) -> Result<Exit> {
    let queues = inspect::find_queues(&super::server(session).await?).await?;
    let header = ["system", "layout", "prefix", "queue", "waiting", "running"];
    let none = "no queues of older systems found";
    print::table(session, &queues, none, &header, row)
}

fn row(queue: &FoundQueue) -> Vec<String> {
    vec![
        queue.system.to_owned(),
        queue.layout.to_owned(),
        queue.prefix.clone().unwrap_or_default(),
        queue.queue.clone().unwrap_or_default(),
        queue.waiting.to_string(),
        queue.running.to_string(),
    ]
}
