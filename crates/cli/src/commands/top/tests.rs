//! Keys and their actions, and the screen at many sizes.

use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use windlass::store::{Change, Clock, Stats, SystemClock, Timestamp};
use windlass::{JobState, QueueName};
use windlass_api::{Error, JobReply, QueueReply, WorkerReply, timestamp};

use super::model::{Action, Detail, Mode, Model, Page, Panel, QueueNumbers, Snapshot};
use super::read::News;
use super::{update, view};
use crate::snapshot::Snapshots;

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

fn numbers(name: &str, stats: &Stats) -> QueueNumbers {
    QueueNumbers::new(QueueReply::new(&queue(name), stats), &[worker()])
}

fn worker() -> WorkerReply {
    serde_json::from_value(serde_json::json!({
        "id": "5c1f0e7a9b3d2468", "name": "exec", "host": "box-1", "pid": 4711, "version": "0.1.0",
        "queues": ["mail"], "state": "busy", "running": [{"queue": "mail", "id": "a"}], "command": "continue",
        "started_at": "2026-01-31T08:00:00.000Z", "last_seen_at": "2026-01-31T08:05:00.000Z", "last_seen_ms": 2100,
    }))
    .unwrap()
}

fn snapshot() -> Snapshot {
    let mail = Stats {
        ready: 120,
        scheduled: 4,
        running: 8,
        dead: 3,
        oldest_ms: Some(12_000),
        ..Stats::default()
    };
    let paused = Stats {
        is_paused: true,
        ..Stats::default()
    };
    let died_at = Timestamp::from_ms(SystemClock.now_us() / 1000 - 95_000);
    let failure = JobReply {
        finished_at: Some(timestamp::format(died_at)),
        error: Some("connection refused \u{202e}\u{1b}[2J".to_owned()),
        ..job()
    };
    let mut snapshot = Snapshot {
        queues: vec![numbers("mail", &mail), numbers("thumbs", &paused)],
        workers: vec![worker()],
        failures: vec![failure],
        ..Snapshot::default()
    };
    snapshot.queues[0].in_per_second = 12.5;
    snapshot.queues[0].out_per_second = 1_250.0;
    snapshot.set_total();
    snapshot
}

fn model() -> Model {
    let url = "redis://127.0.0.1:6379/0".to_owned();
    let mut model = Model::new(url, Duration::from_secs(1), snapshot());
    update::settle(&mut model);
    model
}

fn job() -> JobReply {
    serde_json::from_value(serde_json::json!({
        "id": "letter-7", "queue": "mail", "state": "dead", "kind": "letter", "priority": 5, "attempt": 3,
        "max_attempts": 3, "expiries": 0, "progress": null, "progress_message": null,
        "created_at": "2026-01-31T08:05:00.000Z", "due_at": "2026-01-31T08:05:00.000Z", "expires_at": null,
        "started_at": null, "finished_at": "2026-01-31T08:06:00.000Z", "timeout_ms": null, "unique_key": null,
        "headers": {}, "payload": "dear Ann", "payload_base64": null, "result": null, "result_base64": null,
        "error": "connection refused\n  at line 3\u{7}", "reason": "exhausted", "worker": null,
        "cancel_requested": false,
    }))
    .unwrap()
}

fn press(model: &mut Model, keys: &str) -> Option<Action> {
    let code = |key| match key {
        '\n' => KeyCode::Enter,
        '\t' => KeyCode::Tab,
        '<' => KeyCode::Esc,
        key => KeyCode::Char(key),
    };
    let press = |key| update::on_key(model, KeyEvent::new(code(key), KeyModifiers::NONE));
    keys.chars().map(press).last().flatten()
}

/// Shows what was read for the page.
fn give(model: &mut Model, detail: Detail) {
    let news = News::Detail(model.page.clone(), Ok(detail));
    update::on_news(model, news);
}

fn give_jobs(model: &mut Model) {
    give(model, Detail::Jobs(vec![job()], true));
}

fn drawn(model: &Model, width: u16, height: u16, has_colour: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| view::draw(frame, model, has_colour))
        .unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(|cell| cell.symbol()).collect();
        format!("{}\n", text.trim_end())
    };
    buffer
        .content
        .chunks(usize::from(width))
        .map(line)
        .collect()
}

#[test]
fn each_page_matches_its_snapshot() {
    let mut snapshots = Snapshots::open("top");
    let mut model = model();
    snapshots.compare("overview-80x24", &drawn(&model, 80, 24, true));
    snapshots.compare("overview-120x24", &drawn(&model, 120, 24, true));
    snapshots.compare("overview-40x10", &drawn(&model, 40, 10, false));
    press(&mut model, "?");
    snapshots.compare("help-80x24", &drawn(&model, 80, 24, true));
    press(&mut model, "x\n");
    give_jobs(&mut model);
    snapshots.compare("jobs-80x24", &drawn(&model, 80, 24, true));
    press(&mut model, "\nd");
    let detail = Detail::Job(Some(Box::new(job())));
    give(&mut model, detail);
    snapshots.compare("job-80x24", &drawn(&model, 80, 24, true));
    snapshots.finish();
}

#[test]
fn every_size_is_drawn() {
    let mut pages = vec![model(), model(), model(), model(), model()];
    press(&mut pages[1], "\n");
    give_jobs(&mut pages[1]);
    press(&mut pages[2], "\n");
    give_jobs(&mut pages[2]);
    press(&mut pages[2], "\n");
    give(&mut pages[2], Detail::Job(Some(Box::new(job()))));
    press(&mut pages[3], "?");
    pages[4].snapshot = Snapshot::default();
    for model in &pages {
        for width in [1, 2, 3, 7, 20, 39, 40, 79, 80, 81, 300] {
            for height in (1..20).chain([24, 100]) {
                drawn(model, width, height, true);
            }
        }
    }
}

#[test]
fn colours_are_used_only_where_allowed() {
    let colours = |has_colour| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal
            .draw(|frame| view::draw(frame, &model(), has_colour))
            .unwrap();
        let cells = terminal.backend().buffer().content.clone();
        cells
            .iter()
            .any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(colours(true));
    assert!(!colours(false));
}

#[test]
fn a_queue_is_paused_and_resumed() {
    let mut model = model();
    let pause = press(&mut model, "p");
    let resume = press(&mut model, "jp");
    assert_eq!(pause, Some(Action::SetPaused(queue("mail"), true)));
    assert_eq!(resume, Some(Action::SetPaused(queue("thumbs"), false)));
}

#[test]
fn all_dead_jobs_are_retried_only_after_a_yes() {
    let mut model = model();
    assert_eq!(press(&mut model, "r"), None);
    let Mode::Question(question, _) = &model.mode else {
        panic!("no question: {:?}", model.mode);
    };
    assert_eq!(question, "retry all 3 dead jobs of mail? y/n");
    assert_eq!(press(&mut model, "n"), None);
    assert_eq!(press(&mut model, "y"), None);

    let retry = press(&mut model, "ry");

    assert_eq!(retry, Some(Action::AllDead(Change::Retry, queue("mail"))));
    assert_eq!(press(&mut model, "jr"), None);
    assert_eq!(model.message, "thumbs has no dead jobs");
}

#[test]
fn the_question_is_about_the_job_that_was_selected_when_it_was_asked() {
    let mut model = model();
    press(&mut model, "\n");
    give_jobs(&mut model);
    press(&mut model, "d");
    give(&mut model, Detail::Jobs(Vec::new(), false));

    let delete = press(&mut model, "y");

    let wanted = Action::One(Change::Delete, queue("mail"), "letter-7".to_owned());
    assert_eq!(delete, Some(wanted));
    assert_eq!(press(&mut model, "d"), None, "no job is selected");
    assert_eq!(model.mode, Mode::Normal);
}

#[test]
fn enter_opens_and_escape_goes_back() {
    let mut model = model();
    press(&mut model, "\n");
    assert_eq!(model.page, Page::Jobs(queue("mail"), JobState::Dead));
    press(&mut model, "\t");
    assert_eq!(model.page, Page::Jobs(queue("mail"), JobState::Succeeded));
    give_jobs(&mut model);
    press(&mut model, "\n");
    assert_eq!(model.page, Page::Job(queue("mail"), "letter-7".to_owned()));
    press(&mut model, "<<");
    assert_eq!(model.page, Page::Overview);

    press(&mut model, "\t\t\n");
    assert_eq!(model.panel, Panel::Failures);
    assert_eq!(model.page, Page::Job(queue("mail"), "letter-7".to_owned()));
    let retry = press(&mut model, "r");
    let wanted = Action::One(Change::Retry, queue("mail"), "letter-7".to_owned());
    assert_eq!(retry, Some(wanted));
}

#[test]
fn a_filter_hides_other_rows_and_its_keys_do_nothing_else() {
    let mut model = model();
    assert_eq!(press(&mut model, "/THUMq"), None);
    press(&mut model, "<");
    assert_eq!(model.filter, "");
    press(&mut model, "/THUM\n");

    assert!(!drawn(&model, 80, 24, true).contains("mail "));
    assert_eq!(
        press(&mut model, "p"),
        Some(Action::SetPaused(queue("thumbs"), false))
    );
    let joined = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT);
    assert_eq!(update::on_key(&mut model, joined), Some(Action::Quit));
    assert_eq!(model.filter, "", "escape came first");
}

#[test]
fn a_store_that_is_away_is_shown_until_it_is_back() {
    let mut model = model();
    model.answered_at = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
    assert!(drawn(&model, 80, 24, true).contains("no answer since 5s"));

    let away = Error::new(
        windlass_api::Code::StoreUnreachable,
        "connection refused",
        "start it",
    );
    update::on_news(&mut model, News::Snapshot(Err(away)));
    let shown = drawn(&model, 80, 24, true);
    assert!(
        shown.contains("store away since 5s; retrying: connection refused"),
        "{shown}"
    );
    assert!(shown.contains("mail"), "the last numbers stay");

    assert!(update::on_news(&mut model, News::Snapshot(Ok(snapshot()))));
    assert!(drawn(&model, 80, 24, true).contains("ready 120"));
}

#[test]
fn what_was_read_for_another_page_is_ignored() {
    let mut model = model();
    press(&mut model, "\n");
    let late = News::Detail(Page::Overview, Ok(Detail::Job(None)));
    update::on_news(&mut model, late);
    assert!(matches!(model.detail, Detail::Empty));
}
