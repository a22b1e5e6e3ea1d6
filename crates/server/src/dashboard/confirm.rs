//! Pages that ask before something that cannot be undone.

use askama::Template;
use windlass_api::Scope;

use super::format::Count;
use super::layout::View;
use super::{Page, PageRequest};
use crate::error::HttpError;
use crate::handlers::queue_reply;

/// A question with a button.
#[derive(Template)]
#[template(path = "confirm.html")]
pub(super) struct Confirm {
    pub(super) title: String,
    pub(super) text: String,
    /// Where the form goes.
    pub(super) action: String,
    pub(super) button: String,
    /// A field of the form.
    pub(super) field: Option<(&'static str, &'static str)>,
    pub(super) back: String,
    pub(super) is_allowed: bool,
}

impl Confirm {
    pub(super) fn view(self) -> Result<View, HttpError> {
        let view = View::new(self.title.clone()).fixed("confirm", &self)?;
        Ok(view.back_to(self.back))
    }
}

/// Renders the page.
pub(super) async fn view(request: &PageRequest) -> Result<View, HttpError> {
    let name = |parameter| request.parameter(parameter).to_owned();
    let (title, text, button, scope) = match request.page {
        Page::Purge => {
            let queue = queue_reply(&request.state, &request.queue()?).await?;
            let waiting = Count(queue.ready + queue.scheduled + queue.pending);
            (
                format!("Purge {}?", queue.queue),
                format!(
                    "This deletes {waiting} ready and scheduled jobs for good. Running and finished jobs stay. \
                     Very many jobs take more than one click."
                ),
                "Purge the queue",
                Scope::Admin,
            )
        }
        Page::DeleteQueue => (
            format!("Delete {}?", name("queue")),
            "This deletes the settings, stats and remembered ids of the queue. A queue that has jobs or schedules \
             is not deleted."
                .to_owned(),
            "Delete the queue",
            Scope::Admin,
        ),
        Page::StopWorker => (
            format!("Stop the worker {}?", name("worker")),
            "It finishes its running jobs and exits. Something has to start it again.".to_owned(),
            "Stop the worker",
            Scope::Operate,
        ),
        _ => (
            format!("Declare the worker {} dead?", name("worker")),
            "Its jobs return to their queues now. If it is still alive they run twice: declare it dead only if its \
             process or machine is gone."
                .to_owned(),
            "Declare it dead",
            Scope::Operate,
        ),
    };
    let back = match request.page {
        Page::Purge => format!("/queues/{}", crate::request::encode(&name("queue"))),
        Page::DeleteQueue => "/".to_owned(),
        _ => "/workers".to_owned(),
    };
    let confirm = Confirm {
        title,
        text,
        action: request.path.clone(),
        button: button.to_owned(),
        field: (request.page == Page::StopWorker).then_some(("command", "stop")),
        back,
        is_allowed: request.may(scope),
    };
    confirm.view()
}
