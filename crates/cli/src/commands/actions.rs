//! `windlass actions`: prints the log of operator actions.

use windlass_api::request::{ActionReply, Actions, ActionsReply};

use super::verb::{self, Print};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// Prints a page of the log.
pub(super) async fn run(request: Actions, session: &mut Session) -> Result<Exit> {
    let first = Actions {
        // Only the store that issued a cursor can read it.
        cursor: None,
        ..request.clone()
    };
    verb::check_on_store(&first).await?;
    let store = session.store().await?;
    let reply = windlass_api::request::StoreRequest::execute(request, store.as_ref()).await?;
    reply.show(session);
    if let Some(next) = reply.next {
        session.output.next_page(&next);
    }
    Ok(Exit::Ok)
}

impl Print for ActionsReply {
    fn print(&self, output: &mut Output) {
        if self.actions.is_empty() {
            output.note("no operator actions");
        }
        let row = |action: &ActionReply| {
            vec![
                action.at.clone(),
                action.who.clone(),
                action.interface.clone(),
                action.op.clone(),
                action.queue.clone().unwrap_or_default(),
                action.target.clone(),
            ]
        };
        let header = ["at", "who", "interface", "op", "queue", "target"];
        output.table(&header, self.actions.iter().map(row));
    }
}
