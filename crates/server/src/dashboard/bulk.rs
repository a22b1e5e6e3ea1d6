//! Changes of many jobs: those selected on a page, or all that match a filter. They run in the background, page by
//! page, and a page of the dashboard shows how far they are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use askama::Template;
use tokio_util::sync::CancellationToken;
use windlass_api::request::{Cancel, ChangesReply, Delete, JobSelector, Promote, Retry};
use windlass_api::{ChangeCounts, Code, QueueReply, Reply, Request, Scope};
use windlass_core::{Change, QueueName};

use super::PageRequest;
use super::confirm::Confirm;
use super::form::{TOKEN, field, read, see_other};
use super::format::Count;
use super::jobs::JobFilter;
use super::layout::View;
use super::session::check_form;
use crate::error::HttpError;
use crate::handlers::{HandlerResult, action, dispatch, queue_reply};
use crate::request::{ApiRequest, encode};
use crate::state::AppState;

/// How many run at the same time.
const RUNNING_MAX: usize = 4;

/// How many are remembered, with those that have ended.
const TASKS_MAX: usize = 100;

/// Returns the changes that apply to jobs in a state, or in any.
pub(super) fn changes_of(state: Option<&str>) -> Vec<Change> {
    match state {
        Some("ready" | "running") => vec![Change::Cancel],
        Some("scheduled" | "pending") => vec![Change::Promote, Change::Cancel],
        Some("dead") => vec![Change::Retry, Change::Delete],
        Some("succeeded" | "cancelled") => vec![Change::Delete],
        _ => vec![
            Change::Retry,
            Change::Promote,
            Change::Cancel,
            Change::Delete,
        ],
    }
}

/// The changes that run in this server, and the latest that have ended; the newest is first.
#[derive(Debug, Default)]
pub(crate) struct BulkTasks(Mutex<VecDeque<Arc<Task>>>);

/// One change of many jobs.
#[derive(Debug)]
struct Task {
    id: String,
    queue: QueueName,
    change: Change,
    /// The selected jobs, or the filter.
    about: String,
    /// About how many jobs have to be examined.
    expected: u64,
    back: String,
    progress: Mutex<Progress>,
    stop: CancellationToken,
}

#[derive(Debug, Clone)]
struct Progress {
    counts: ChangeCounts,
    scanned: u64,
    end: Option<End>,
}

/// Why a change does not go on.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Done,
    Stopped,
    Failed(String),
}

impl BulkTasks {
    fn add(&self, task: Arc<Task>) -> Result<(), HttpError> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = tasks.iter().filter(|task| task.progress().end.is_none());
        if running.count() >= RUNNING_MAX {
            let why = format!("{RUNNING_MAX} changes of many jobs are running");
            let help = "wait until one has ended, or use `windlass job`";
            return Err(HttpError::new(Code::Overloaded, why, help));
        }
        tasks.push_front(task);
        tasks.truncate(TASKS_MAX);
        Ok(())
    }

    fn find(&self, queue: &QueueName, id: &str) -> Result<Arc<Task>, HttpError> {
        let tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tasks = tasks.iter();
        let found = tasks.find(|task| task.id == id && task.queue == *queue);
        found.cloned().ok_or_else(|| {
            let why = "this server does not know the change: it ended long ago, or the server was restarted";
            let help = "look at the jobs; if some are left, start the change again";
            HttpError::new(Code::NotFound, why, help)
        })
    }
}

impl Task {
    fn progress(&self) -> Progress {
        let progress = self.progress.lock();
        progress.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn path(&self) -> String {
        let (queue, change) = (encode(self.queue.as_str()), self.change);
        format!("/queues/{queue}/bulk/{change}/{}", self.id)
    }

    /// Changes the jobs page by page.
    async fn run(self: Arc<Self>, state: Arc<AppState>, mut selector: JobSelector) {
        let end = loop {
            if self.stop.is_cancelled() || state.stopping.is_cancelled() {
                break End::Stopped;
            }
            let op = request(self.change, selector.clone());
            match dispatch(&state, Some(&self.queue), op).await {
                Ok(
                    Reply::Retry(page)
                    | Reply::Cancel(page)
                    | Reply::Promote(page)
                    | Reply::Delete(page),
                ) => match self.add(page) {
                    Some(next) => selector.cursor = Some(next),
                    None => break End::Done,
                },
                Ok(_) => break End::Failed("the store returned another reply".to_owned()),
                Err(error) => break End::Failed(error.inner.message),
            }
        };
        let mut progress = self.progress.lock();
        let progress = progress.as_mut().unwrap_or_else(|error| error.get_mut());
        progress.end = Some(end);
    }

    /// Adds a page. Returns the cursor of the next one.
    fn add(&self, page: ChangesReply) -> Option<String> {
        let ChangesReply::Many {
            counts,
            next,
            scanned,
            ..
        } = page
        else {
            return None;
        };
        let mut progress = self.progress.lock();
        let progress = progress.as_mut().unwrap_or_else(|error| error.get_mut());
        progress.counts.done += counts.done;
        progress.counts.will_stop += counts.will_stop;
        progress.counts.wrong_state += counts.wrong_state;
        progress.counts.conflict += counts.conflict;
        progress.counts.not_found += counts.not_found;
        progress.scanned += scanned as u64;
        next
    }
}

fn request(change: Change, selector: JobSelector) -> Request {
    match change {
        Change::Cancel => Request::Cancel(Cancel(selector)),
        Change::Retry => Request::Retry(Retry(selector)),
        Change::Delete => Request::Delete(Delete(selector)),
        Change::Promote => Request::Promote(Promote(selector)),
    }
}

fn parse_change(text: &str) -> Result<Change, HttpError> {
    Change::from_text(text).ok_or_else(|| {
        let help = "use retry, promote, cancel or delete";
        HttpError::new(Code::NotFound, format!("unknown change {text:?}"), help)
    })
}

/// Returns how many jobs a change of all in a state examines.
fn expected(queue: &QueueReply, change: Change, state: Option<&str>) -> u64 {
    match (state, change) {
        (Some("ready"), _) => queue.ready,
        (Some("running"), _) => queue.running,
        (Some("scheduled"), _) | (None, Change::Promote) => queue.scheduled,
        (Some("pending"), _) => queue.pending,
        (Some("dead"), _) | (None, Change::Retry) => queue.dead,
        (Some("succeeded"), _) => queue.succeeded,
        (Some("cancelled"), _) => queue.cancelled,
        (_, Change::Delete) => queue.dead + queue.succeeded + queue.cancelled,
        _ => queue.ready + queue.running + queue.scheduled + queue.pending,
    }
}

fn capitalized(change: Change) -> String {
    let mut text = change.as_str().to_owned();
    text[..1].make_ascii_uppercase();
    text
}

/// Asks before all jobs that match a filter are changed.
pub(super) async fn confirm(page: &PageRequest) -> Result<View, HttpError> {
    let change = parse_change(page.parameter("change"))?;
    let (queue, filter) = (page.queue()?, JobFilter::of(page));
    filter.fields()?.read::<JobSelector>()?.filter()?;
    let stats = queue_reply(&page.state, &queue).await?;
    let examined = Count(expected(&stats, change, filter.get("state")));
    let conditions = match filter.about() {
        about if about.is_empty() => "There is no filter: all are changed.".to_owned(),
        about => format!("Filter: {about}."),
    };
    let query = filter.query();
    let confirm = Confirm {
        title: format!("{} all matching jobs of {queue}?", capitalized(change)),
        text: format!(
            "{conditions} Up to {examined} jobs are examined; {}. It runs in the background.",
            change.requirement()
        ),
        action: format!("{}?{query}", page.path),
        button: format!("{} them", capitalized(change)),
        field: Some(("which", "all")),
        back: format!("/queues/{}/jobs?{query}", encode(queue.as_str())),
        is_allowed: page.may(Scope::Operate),
    };
    confirm.view()
}

/// Starts a change of the jobs selected in a form, or of all that match the filter in the query.
pub(crate) async fn start(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let form = read(&mut request).await?;
    check_form(state, &request.caller, field(&form, TOKEN))?;
    let change = parse_change(request.path_parameter("change").unwrap_or_default())?;
    let queue = request.queue()?;
    let filter = JobFilter::of_query(&request.query);
    let ids = form.iter().filter(|(name, _)| name == "ids");
    let ids: Vec<_> = ids.map(|(_, id)| id.clone()).collect();
    let is_all = field(&form, "which") == Some("all");
    let mut selector = JobSelector::default();
    let (about, expected) = if is_all {
        selector = filter.fields()?.read()?;
        selector.all = Some(true);
        let stats = queue_reply(state, &queue).await?;
        (
            filter.about(),
            expected(&stats, change, filter.get("state")),
        )
    } else if ids.is_empty() {
        let help = "go back and select some, or change all that match the filter";
        return Err(HttpError::new(Code::Invalid, "no job is selected", help));
    } else {
        let count = ids.len() as u64;
        selector.ids = Some(ids);
        ("selected jobs".to_owned(), count)
    };
    let op = self::request(change, selector.clone());
    let mut entry = action::entry(&request, "dashboard", Some(&queue), &op);
    if let Some(entry) = &mut entry {
        entry.op = change.to_string();
    }
    let task = Arc::new(Task {
        id: format!("{:012x}", fastrand::u64(..1 << 48)),
        change,
        about,
        expected,
        back: format!("/queues/{}/jobs?{}", encode(queue.as_str()), filter.query()),
        progress: Mutex::new(Progress {
            counts: ChangeCounts::new(&queue),
            scanned: 0,
            end: None,
        }),
        queue,
        stop: CancellationToken::new(),
    });
    state.bulk.add(Arc::clone(&task))?;
    action::log(state, entry).await?;
    let path = task.path();
    tokio::spawn(task.run(Arc::clone(state), selector));
    Ok(see_other(&path))
}

/// Stops a change. What is changed stays changed.
pub(crate) async fn stop(state: &Arc<AppState>, mut request: ApiRequest) -> HandlerResult {
    let form = read(&mut request).await?;
    check_form(state, &request.caller, field(&form, TOKEN))?;
    let id = request.path_parameter("task").unwrap_or_default();
    let task = state.bulk.find(&request.queue()?, id)?;
    task.stop.cancel();
    Ok(see_other(&task.path()))
}

#[derive(Template)]
#[template(path = "bulk.html")]
struct BulkView<'a> {
    title: &'a str,
    path: String,
    task: &'a Task,
    label: &'static str,
    class: &'static str,
    error: Option<&'a str>,
    scanned: Count,
    expected: Count,
    /// For the bar: jobs may be added while it runs.
    most: u64,
    is_running: bool,
    may_operate: bool,
    counts: Vec<(&'static str, Count)>,
    progress: &'a Progress,
}

/// Shows how far a change is.
pub(super) fn view(page: &PageRequest) -> Result<View, HttpError> {
    let task = page
        .state
        .bulk
        .find(&page.queue()?, page.parameter("task"))?;
    let progress = task.progress();
    let counts = &progress.counts;
    let counts = [
        (task.change.past_tense(), counts.done),
        ("asked to stop", counts.will_stop),
        ("in another state", counts.wrong_state),
        ("unique key in use", counts.conflict),
        ("gone", counts.not_found),
    ];
    let (label, class, error) = match &progress.end {
        None => ("running", "", None),
        Some(End::Done) => ("done", "good", None),
        Some(End::Stopped) => ("stopped", "warn", None),
        Some(End::Failed(why)) => ("failed", "bad", Some(why.as_str())),
    };
    let title = format!("{} jobs of {}", capitalized(task.change), task.queue);
    let shown = BulkView {
        title: &title,
        path: task.path(),
        label,
        class,
        error,
        scanned: Count(progress.scanned),
        expected: Count(task.expected),
        most: task.expected.max(progress.scanned).max(1),
        is_running: progress.end.is_none(),
        may_operate: page.may(Scope::Operate),
        counts: counts
            .into_iter()
            .enumerate()
            .filter(|(at, (_, count))| *at == 0 || *count > 0)
            .map(|(_, (name, count))| (name, Count(count)))
            .collect(),
        progress: &progress,
        task: &task,
    };
    View::new(title.clone()).live("bulk", &shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(end: Option<End>) -> Arc<Task> {
        let queue = QueueName::new("mail").unwrap();
        Arc::new(Task {
            id: format!("{:012x}", fastrand::u64(..1 << 48)),
            change: Change::Retry,
            about: String::new(),
            expected: 0,
            back: String::new(),
            progress: Mutex::new(Progress {
                counts: ChangeCounts::new(&queue),
                scanned: 0,
                end,
            }),
            queue,
            stop: CancellationToken::new(),
        })
    }

    #[test]
    fn few_changes_run_at_once_and_few_are_remembered() {
        let tasks = BulkTasks::default();
        for _ in 0..TASKS_MAX + 5 {
            tasks.add(task(Some(End::Done))).unwrap();
        }
        assert_eq!(tasks.0.lock().unwrap().len(), TASKS_MAX);
        for _ in 0..RUNNING_MAX {
            tasks.add(task(None)).unwrap();
        }
        let error = tasks.add(task(None)).unwrap_err();
        assert_eq!(error.inner.code, Code::Overloaded);
    }

    #[test]
    fn a_task_of_another_queue_is_not_found() {
        let tasks = BulkTasks::default();
        let known = task(None);
        tasks.add(Arc::clone(&known)).unwrap();
        assert!(tasks.find(&known.queue, &known.id).is_ok());
        let other = QueueName::new("other").unwrap();
        assert!(tasks.find(&other, &known.id).is_err());
    }
}
