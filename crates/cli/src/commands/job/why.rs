//! `windlass job why`: explains why a job waits, and what can be done about it.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use windlass::JobState;
use windlass::duration;
use windlass_api::request::{QueueRequest, Why};
use windlass_api::{Code, DetailReply, HolderReply, ReasonReply, WhyReply};

use crate::commands::hint;
use crate::commands::verb::{OnQueue, Print, store_for};
use crate::exit::{Exit, Result};
use crate::output::Output;
use crate::session::Session;

/// How often `--watch` asks again.
const REFRESH: Duration = Duration::from_secs(1);

/// Command-line arguments.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    job: OnQueue<Why>,

    /// Print again whenever the answer changes, until the job has finished
    #[arg(long)]
    watch: bool,
}

pub(super) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    let OnQueue { queue, request } = arguments.job;
    let store = store_for(&request, &queue, session).await?;
    let mut signals = session.signals()?;
    let mut last: Option<WhyReply> = None;
    loop {
        let reply = request.clone().execute(store.as_ref(), &queue).await;
        match reply {
            Ok(reply) => {
                if last.as_ref().is_none_or(|last| differs(last, &reply)) {
                    if last.is_some() && !session.output.is_json() {
                        session.output.line("");
                    }
                    reply.show(session);
                }
                last = Some(reply);
            }
            // A watched job that finished may not be kept.
            Err(error) if error.code == Code::NotFound && last.is_some() => return Ok(Exit::Ok),
            Err(error) => {
                if error.code == Code::NotFound {
                    hint::note_unused(store.as_ref(), &[queue], session).await;
                }
                return Err(error.into());
            }
        }
        let state = last
            .as_ref()
            .and_then(|last| JobState::from_text(last.state));
        let is_over = !arguments.watch || state.is_none_or(JobState::is_final);
        let pause = tokio::time::sleep(REFRESH);
        if is_over || signals.unless_next(pause).await.is_none() {
            return Ok(Exit::Ok);
        }
    }
}

/// Whether a watcher wants to see another reply: an estimate changes all the time.
fn differs(last: &WhyReply, reply: &WhyReply) -> bool {
    (last.state, &last.reasons) != (reply.state, &reply.reasons)
}

impl Print for WhyReply {
    fn print(&self, output: &mut Output) {
        let eta = self.eta_ms.zip(self.eta_basis);
        let eta = eta.map(|(ms, basis)| {
            let after = duration::short(Duration::from_millis(ms));
            format!("in about {after} (by {})", basis.replace('_', " "))
        });
        let mut fields = vec![
            ("id", Some(self.id.clone())),
            ("queue", Some(self.queue.clone())),
            ("state", Some(self.state.to_owned())),
            ("starts", eta),
        ];
        if self.reasons.is_empty() {
            let text = "nothing keeps it back: it starts when a worker has a free slot";
            fields.push(("why", Some(text.to_owned())));
        }
        for (number, reason) in self.reasons.iter().enumerate() {
            let name = if number == 0 { "why" } else { "and" };
            fields.push((name, Some(describe(self, reason))));
        }
        output.fields(fields);
    }
}

/// What a reason means, and on the next line what to do about it.
fn describe(job: &WhyReply, reason: &ReasonReply) -> String {
    let what = meaning(reason);
    let what = match &reason.until {
        Some(until) => format!("{what} until {until}"),
        None => what,
    };
    match advice(job, reason) {
        Some(command) => format!("{what}\n→ {command}"),
        None => what,
    }
}

fn meaning(reason: &ReasonReply) -> String {
    let DetailReply {
        group,
        error,
        job,
        job_state,
        ..
    } = &reason.detail;
    let detail = &reason.detail;
    let group = group.as_deref().unwrap_or_default();
    let number = |count: Option<u32>| count.unwrap_or_default();
    let running = detail.running.unwrap_or_default();
    let max = number(detail.max_running);
    let rate = detail.rate.as_deref().unwrap_or_default();
    let other = job.as_deref().unwrap_or("another job");
    let other = format!("{other} ({})", job_state.unwrap_or("unknown"));
    match reason.reason {
        "final" => match (detail.dead_reason, error) {
            (Some(why), Some(error)) => format!("it is dead ({why}): {error}"),
            (Some(why), None) => format!("it is dead ({why})"),
            _ => "it has finished".to_owned(),
        },
        "running" => running_text(detail),
        "scheduled" => match (detail.attempt, error) {
            (Some(attempt), Some(error)) if attempt > 1 => {
                format!("attempt {attempt} waits, after: {error}; scheduled")
            }
            _ => "it is not due; scheduled".to_owned(),
        },
        "pending" => format!("it waits for the end of {other}"),
        "queue_paused" => "the queue is paused".to_owned(),
        "queue_full" => format!("the queue runs {running} jobs of at most {max}"),
        "queue_rate" => format!("the rate of the queue ({rate}) is closed"),
        "queue_resting" => "the queue rests".to_owned(),
        "group_paused" => format!("the group {group} is paused"),
        "group_resting" => format!("the group {group} rests"),
        "group_rate" => format!("the rate of the group {group} ({rate}) is closed"),
        "group_full" => {
            let holders = detail.holders.iter().flatten().map(holder);
            let holders: Vec<_> = holders.collect();
            let holders = holders.join("\n");
            format!("the group {group} uses {running} slots of at most {max}:\n{holders}")
        }
        "lane_head" => format!("the head of the lane {group} is {other}"),
        "suspect" => {
            let (expiries, dead_at) = (number(detail.expiries), number(detail.poison_after));
            format!(
                "its lease expired {expiries} times (dead at {dead_at}), so it is claimed alone"
            )
        }
        "no_worker" => match &detail.last_seen {
            Some(at) => format!("no worker serves the queue; the last one was seen at {at}"),
            None => "no worker serves the queue".to_owned(),
        },
        "behind" => {
            let ahead = detail.ahead.unwrap_or_default();
            let about = if detail.estimate == Some(true) {
                "about "
            } else {
                ""
            };
            let jobs = if ahead == 1 { "job comes" } else { "jobs come" };
            format!("{about}{ahead} {jobs} first")
        }
        // A newer server may know more reasons.
        other => other.to_owned(),
    }
}

fn running_text(detail: &DetailReply) -> String {
    let mut text = "it runs".to_owned();
    if let Some(worker) = &detail.worker {
        let _ = write!(text, " on {worker}");
    }
    if let Some(since) = &detail.since {
        let _ = write!(text, " since {since}");
    }
    if let Some(progress) = detail.progress {
        let _ = write!(text, ", {:.0}% done", progress * 100.0);
    }
    if detail.cancel_requested == Some(true) {
        text += ", and was asked to stop";
    }
    match &detail.lease_until {
        Some(until) => text + &format!("; its lease ends at {until}"),
        None => text,
    }
}

fn holder(holder: &HolderReply) -> String {
    let mut text = format!("- {} {}", holder.id, holder.state);
    if let Some(worker) = &holder.worker {
        let _ = write!(text, " on {worker}");
    }
    if let Some(since) = &holder.since {
        let _ = write!(text, " since {since}");
    }
    text
}

/// A command that puts an end to a reason, or shows more.
fn advice(job: &WhyReply, reason: &ReasonReply) -> Option<String> {
    let (queue, id, detail) = (&job.queue, &job.id, &reason.detail);
    let group = detail.group.as_deref().unwrap_or_default();
    let other = detail.job.as_deref().unwrap_or(id);
    let more = detail.max_running.unwrap_or_default() + 1;
    Some(match reason.reason {
        "final" if detail.dead_reason.is_some() => format!("windlass job retry {queue} {id}"),
        "final" | "suspect" => format!("windlass job get {queue} {id}"),
        "running" => format!("windlass job cancel {queue} {id}"),
        "scheduled" => format!("windlass job promote {queue} {id}"),
        "queue_paused" | "queue_resting" => format!("windlass queue resume {queue}"),
        "queue_full" => format!("windlass queue set {queue} max_running={more}"),
        "queue_rate" => format!("windlass queue set {queue} rate=none"),
        "group_paused" | "group_resting" => format!("windlass groups resume {queue} {group}"),
        "group_rate" => format!("windlass groups set {queue} {group} rate=none"),
        "group_full" => format!("windlass groups set {queue} {group} max_running={more}"),
        "lane_head" if detail.job_state == Some("dead") => {
            format!("windlass job retry {queue} {other}")
        }
        "pending" | "lane_head" => format!("windlass job why {queue} {other}"),
        "no_worker" => format!("windlass exec {queue} CMD"),
        "behind" => "windlass workers".to_owned(),
        _ => return None,
    })
}
