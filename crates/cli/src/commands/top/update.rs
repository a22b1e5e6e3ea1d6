//! Keys and news change the model; what must be done in the store is returned as an action.

use std::time::Instant;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use windlass::store::Change;
use windlass::{JobState, QueueName};
use windlass_api::QueueReply;

use super::model::{Action, Detail, Mode, Model, Page, Panel, STATES};
use super::read::News;
use super::rows;

/// How many rows a page key moves by.
const PAGE_ROWS: isize = 10;

/// Applies a key.
pub(super) fn on_key(model: &mut Model, key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, KeyCode::Char('c' | 'd')).then_some(Action::Quit);
    }
    // A slow line joins escape and the key after it.
    if key.modifiers.contains(KeyModifiers::ALT) {
        on_key(model, KeyEvent::from(KeyCode::Esc));
    }
    match std::mem::replace(&mut model.mode, Mode::Normal) {
        Mode::Normal => on_normal_key(model, key.code),
        Mode::Help => None,
        Mode::Filter => {
            on_filter_key(model, key.code);
            None
        }
        Mode::Question(_, action) => {
            let is_yes = matches!(key.code, KeyCode::Char('y' | 'Y'));
            let message = if is_yes {
                "working…"
            } else {
                "nothing changed"
            };
            message.clone_into(&mut model.message);
            is_yes.then_some(action)
        }
    }
}

fn on_filter_key(model: &mut Model, key: KeyCode) {
    model.mode = Mode::Filter;
    match key {
        KeyCode::Enter => model.mode = Mode::Normal,
        KeyCode::Esc => {
            model.filter.clear();
            model.mode = Mode::Normal;
        }
        KeyCode::Backspace => {
            model.filter.pop();
        }
        KeyCode::Char(c) => model.filter.push(c),
        _ => {}
    }
    select(model, 0);
}

fn on_normal_key(model: &mut Model, key: KeyCode) -> Option<Action> {
    model.message.clear();
    match key {
        KeyCode::Char('q') => return Some(Action::Quit),
        KeyCode::Char('?' | 'h') => model.mode = Mode::Help,
        KeyCode::Char('/') => model.mode = Mode::Filter,
        KeyCode::Up | KeyCode::Char('k') => select(model, -1),
        KeyCode::Down | KeyCode::Char('j') => select(model, 1),
        KeyCode::PageUp => select(model, -PAGE_ROWS),
        KeyCode::PageDown => select(model, PAGE_ROWS),
        KeyCode::Home | KeyCode::Char('g') => select(model, isize::MIN),
        KeyCode::End | KeyCode::Char('G') => select(model, isize::MAX),
        KeyCode::Tab | KeyCode::Right => turn(model, 1),
        KeyCode::BackTab | KeyCode::Left => turn(model, -1),
        KeyCode::Enter => open(model),
        KeyCode::Esc => back(model),
        KeyCode::Char('p') => return pause(model),
        KeyCode::Char('r') => return change(model, Change::Retry),
        KeyCode::Char('d') => return change(model, Change::Delete),
        _ => {}
    }
    None
}

/// Applies news from the background. Returns whether the store is back after an error, which may have left
/// messages on the screen.
pub(super) fn on_news(model: &mut Model, news: News) -> bool {
    let had_error = model.error.is_some();
    match news {
        News::Snapshot(Ok(snapshot)) => {
            model.snapshot = snapshot;
            model.answered_at = Instant::now();
            model.error = None;
            settle(model);
        }
        News::Snapshot(Err(error)) | News::Detail(_, Err(error)) => {
            model.error = Some(error.message);
        }
        // The page may have changed since it was read.
        News::Detail(page, Ok(detail)) if page == model.page => model.detail = detail,
        News::Detail(..) => {}
        News::Done(message) => model.message = message,
    }
    select(model, 0);
    had_error && model.error.is_none()
}

/// Selects the first rows if none is selected.
pub(super) fn settle(model: &mut Model) {
    for (panel, table) in rows::tables(&model.snapshot).iter().enumerate() {
        model.selections[panel].go(0, &table.keys());
    }
}

fn select(model: &mut Model, by: isize) {
    if let Page::Job(..) = model.page {
        let by = i16::try_from(by.clamp(-10_000, 10_000)).unwrap_or_default();
        model.scroll = model.scroll.saturating_add_signed(by);
        return;
    }
    let keys = rows::selectable(model).map(|table| table.keys());
    let selection = model.selection();
    model.selections[selection].go(by, &keys.unwrap_or_default());
}

/// Goes to the next or the last panel of the overview, or state of jobs.
fn turn(model: &mut Model, by: isize) {
    let turned = |at: usize, len: usize| (at + len).saturating_add_signed(by) % len;
    match &model.page {
        Page::Overview => {
            let panels = [Panel::Queues, Panel::Workers, Panel::Failures];
            model.panel = panels[turned(model.panel as usize, panels.len())];
        }
        Page::Jobs(queue, state) => {
            let at = STATES.iter().position(|it| it == state).unwrap_or_default();
            let state = STATES[turned(at, STATES.len())];
            show(model, Page::Jobs(queue.clone(), state));
        }
        Page::Job(..) => {}
    }
    select(model, 0);
}

fn show(model: &mut Model, page: Page) {
    model.page = page;
    model.detail = Detail::Empty;
    model.scroll = 0;
}

fn open(model: &mut Model) {
    let page = match rows::selected(model).and_then(|row| row.target) {
        Some((queue, Some(id))) => QueueName::new(queue).ok().map(|queue| Page::Job(queue, id)),
        Some((queue, None)) => {
            let has_dead = numbers(model, &queue).is_some_and(|it| it.dead > 0);
            let state = if has_dead {
                JobState::Dead
            } else {
                JobState::Ready
            };
            QueueName::new(queue)
                .ok()
                .map(|queue| Page::Jobs(queue, state))
        }
        None => None,
    };
    if let Some(page) = page {
        model.pages.push(model.page.clone());
        model.filter.clear();
        show(model, page);
    }
}

/// Clears the filter, or else goes back to the page before.
fn back(model: &mut Model) {
    if !model.filter.is_empty() {
        model.filter.clear();
    } else if let Some(page) = model.pages.pop() {
        show(model, page);
    }
}

fn numbers<'a>(model: &'a Model, queue: &str) -> Option<&'a QueueReply> {
    let mut queues = model.snapshot.queues.iter().map(|it| &it.queue);
    queues.find(|it| it.queue == queue)
}

/// The queue or the job that keys apply to.
fn target(model: &Model) -> Option<(QueueName, Option<String>)> {
    if let Page::Job(queue, id) = &model.page {
        return Some((queue.clone(), Some(id.clone())));
    }
    let (queue, id) = rows::selected(model)?.target?;
    Some((QueueName::new(queue).ok()?, id))
}

fn pause(model: &Model) -> Option<Action> {
    let (queue, _) = target(model)?;
    let is_paused = numbers(model, queue.as_str())?.paused;
    Some(Action::SetPaused(queue, !is_paused))
}

/// Changes the selected job, or all dead jobs of the selected queue. Everything but the retry of one job is
/// asked first.
fn change(model: &mut Model, change: Change) -> Option<Action> {
    let (question, action) = match target(model)? {
        (queue, Some(id)) => {
            let question = format!("{change} job {id} of {queue}? y/n");
            (question, Action::One(change, queue, id))
        }
        (queue, None) => {
            let dead = numbers(model, queue.as_str())?.dead;
            if dead == 0 {
                model.message = format!("{queue} has no dead jobs");
                return None;
            }
            let question = format!("{change} all {dead} dead jobs of {queue}? y/n");
            (question, Action::AllDead(change, queue))
        }
    };
    if let Action::One(Change::Retry, ..) = action {
        return Some(action);
    }
    model.mode = Mode::Question(question, action);
    None
}
