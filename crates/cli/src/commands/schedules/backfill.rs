//! `windlass schedules backfill`: enqueues the jobs of all instants between two times.

use windlass_api::request::{Backfill, QueueRequest};

use crate::commands::verb::{self, OnQueue};
use crate::exit::{Exit, Result};
use crate::session::Session;

/// Enqueues page by page, and prints the totals.
pub(super) async fn run(arguments: OnQueue<Backfill>, session: &mut Session) -> Result<Exit> {
    let OnQueue { queue, request } = arguments;
    let store = verb::store_for(&request, &queue, session).await?;
    let mut page = request.clone();
    let (mut enqueued, mut duplicates) = (0, 0);
    loop {
        let reply = page.execute(store.as_ref(), &queue).await?;
        enqueued += reply.enqueued;
        duplicates += reply.duplicates;
        match reply.next {
            Some(next) => {
                page = Backfill {
                    from: next.into(),
                    ..request.clone()
                };
            }
            None => break,
        }
    }
    let reply = serde_json::json!({
        "queue": queue.as_str(),
        "name": request.name,
        "enqueued": enqueued,
        "duplicates": duplicates,
    });
    session.output.result(&reply, |output| {
        output.line(&format!(
            "{enqueued} jobs enqueued, {duplicates} duplicates"
        ));
    });
    Ok(Exit::Ok)
}
