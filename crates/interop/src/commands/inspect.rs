//! `windlass interop inspect`: lists the queues of the older systems on a server.

use crate::inspect::{self, FoundQueue};

use windlass_terminal::exit::{Exit, Result};
use windlass_terminal::session::Session;

/// Prints one line per queue.
pub(crate) async fn run(session: &mut Session) -> Result<Exit> {
    let server = super::server(session).await?;
    let queues = inspect::find_queues(&server).await?;
    session.output.result(&queues, |output| {
        if queues.is_empty() {
            output.note("no queues of older systems found");
        }
        let header = ["system", "layout", "prefix", "queue", "waiting", "running"];
        output.table(&header, queues.iter().map(row).collect());
    });
    Ok(Exit::Ok)
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
