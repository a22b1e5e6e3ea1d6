//! The life of `windlass demo --watch`: queues of a small shop, with failures, schedules, groups and limits.

use std::time::Duration;

use windlass::store::{GroupName, Kind, Rule, Schedule, ScheduleName, Setting};
use windlass::{NewJob, Priority, QueueName, Result, RetryPolicy, Store};
use windlass_worker::{AttemptContext, Outcome};

/// The queues with workers; nothing works on [`PAUSED`].
pub(super) const QUEUES: [&str; 4] = ["mail", "images", "webhooks", "reports"];
const PAUSED: &str = "imports";

/// Time between two rounds of new jobs.
const ROUND: Duration = Duration::from_millis(250);

const CUSTOMERS: [&str; 6] = ["acme", "globex", "initech", "umbrella", "hooli", "stark"];

/// Creates the queues with their settings, schedules, and a backlog.
pub(super) async fn prepare(store: &dyn Store) -> Result<()> {
    for (queue, settings) in [
        ("images", &[("group_max_running", "2")][..]),
        (
            "webhooks",
            &[
                ("group_rate", "5/1s"),
                ("group_burst", "5"),
                ("max_running", "10"),
            ],
        ),
    ] {
        let settings = settings
            .iter()
            .map(|(name, value)| Setting::new(name, value));
        store
            .set(&QueueName::new(queue)?, settings.collect::<Result<_>>()?)
            .await?;
    }
    let reports = QueueName::new("reports")?;
    for (name, rule) in [
        ("sales-every-10s", Rule::every(Duration::from_secs(10))?),
        ("stock-every-minute", Rule::cron("* * * * *", "UTC")?),
        ("nightly", Rule::cron("30 2 * * *", "Europe/Berlin")?),
    ] {
        let job = new_job("report", format!(r#"{{"report":"{name}","format":"pdf"}}"#))?;
        let schedule = Schedule::new(ScheduleName::new(name)?, rule, job);
        windlass_schedule::put(store, &reports, schedule, None).await?;
    }
    let imports = QueueName::new(PAUSED)?;
    store.set_paused(&imports, true).await?;
    let rows = (0..400).map(|row| new_job("row", format!(r#"{{"file":"stock.csv","row":{row}}}"#)));
    store
        .enqueue(&imports, rows.collect::<Result<_>>()?)
        .await?;
    Ok(())
}

/// Enqueues jobs forever. An error of one round is no reason to end: the store may come back.
pub(super) async fn enqueue(store: &dyn Store) {
    let mut rounds = tokio::time::interval(ROUND);
    loop {
        rounds.tick().await;
        for (queue, jobs) in [
            ("mail", mails()),
            ("images", images()),
            ("webhooks", webhooks()),
        ] {
            if let (Ok(queue), Ok(jobs)) = (QueueName::new(queue), jobs) {
                let _ = store.enqueue(&queue, jobs).await;
            }
        }
    }
}

fn new_job(kind: &str, payload: String) -> Result<NewJob> {
    let mut job = NewJob::new(payload).kind(Kind::new(kind)?);
    job.headers.set("content-type", "application/json")?;
    let retry = RetryPolicy::exponential(Duration::from_secs(2), Duration::from_secs(20));
    Ok(job.retry(retry.max_attempts(4)))
}

fn mails() -> Result<Vec<NewJob>> {
    let count = fastrand::u32(2..8);
    let mails = (0..count).map(|_| {
        let customer = fastrand::choice(CUSTOMERS).unwrap_or_default();
        let kind = fastrand::choice(["welcome", "receipt", "reminder"]).unwrap_or_default();
        let order = fastrand::u32(10_000..99_999);
        let to = format!("orders@{customer}.example");
        let job = new_job(kind, format!(r#"{{"to":"{to}","order":{order}}}"#))?;
        let job = job.priority(Priority::new(if kind == "receipt" { 2 } else { 5 })?);
        let is_later = kind == "reminder";
        Ok(if is_later {
            job.delay(Duration::from_secs(fastrand::u64(5..120)))
        } else {
            job
        })
    });
    mails.collect()
}

fn images() -> Result<Vec<NewJob>> {
    let customer = fastrand::choice(CUSTOMERS).unwrap_or_default();
    let photo = fastrand::u32(1..9999);
    let job = new_job(
        "resize",
        format!(r#"{{"photo":"{customer}/{photo}.jpg","width":1280}}"#),
    )?;
    Ok(vec![job.group(GroupName::new(customer)?)])
}

fn webhooks() -> Result<Vec<NewJob>> {
    let hooks = (0..fastrand::u32(1..6)).map(|_| {
        let customer = fastrand::choice(CUSTOMERS).unwrap_or_default();
        let order = fastrand::u32(10_000..99_999);
        let payload = format!(r#"{{"url":"https://{customer}.example/hooks","order":{order}}}"#);
        Ok(new_job("order.paid", payload)?.group(GroupName::new(customer)?))
    });
    hooks.collect()
}

/// Runs a job: takes its time, reports progress, and sometimes fails.
pub(super) async fn attempt(context: AttemptContext) -> Outcome {
    let (pause, steps) = match context.queue().as_str() {
        "images" => (fastrand::u64(200..900), 5),
        "reports" => (fastrand::u64(300..900), 4),
        "webhooks" => (fastrand::u64(20..400), 1),
        _ => (fastrand::u64(5..60), 1),
    };
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        if steps > 1 {
            let message = format!("step {step} of {steps}");
            let _ = context
                .progress(f64::from(step) / f64::from(steps), Some(&message))
                .await;
        }
    }
    outcome(context.queue().as_str(), pause)
}

fn outcome(queue: &str, ms: u64) -> Outcome {
    let host = fastrand::u8(1..5);
    match (queue, fastrand::u8(0..100)) {
        ("mail", 0..3) => Outcome::failed(format!(
            "SMTP 451 from mx{host}.example: try again in {ms} s"
        )),
        ("mail", 3) => Outcome::permanent(format!("no such mailbox: user-{ms}@example.org")),
        ("images", 0..6) => {
            Outcome::permanent(format!("photo {ms} is truncated at byte {}", ms * 512))
        }
        ("webhooks", 0..12) => {
            Outcome::failed(format!("POST to 192.0.2.{host}: 503 after {ms} ms"))
        }
        ("webhooks", 12..15) => {
            Outcome::failed(format!("POST to 192.0.2.{host}: timed out after {ms} ms"))
        }
        _ => Outcome::done(),
    }
}
