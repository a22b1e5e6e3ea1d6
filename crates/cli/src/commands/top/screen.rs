//! Runs `top` on a terminal until a key or a signal ends it. Reads happen in the background, so keys are quick
//! even if the store is slow.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;
use tokio::sync::{mpsc, watch};

use super::model::{Action, Model};
use super::read::{News, Reader, Wanted, perform};
use super::{update, view};
use crate::exit::{CliError, Exit, Result};
use crate::output::allows_colour;
use crate::signals::Signals;

/// How often the screen is drawn without news: the age of the last answer grows.
const TICK: Duration = Duration::from_secs(1);

/// Restores the terminal on every way out. After a panic, the hook of ratatui does.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = ratatui::try_restore();
    }
}

/// Draws and applies keys and news until the user quits.
pub(super) async fn run(reader: Reader, mut model: Model, mut signals: Signals) -> Result<Exit> {
    let store = Arc::clone(&reader.store);
    let (news_sender, mut news) = mpsc::unbounded_channel();
    let (wanted, wanted_receiver) = watch::channel(Wanted {
        page: model.page.clone(),
        refreshes: 0,
    });
    let reading = reader.run(model.every, wanted_receiver, news_sender.clone());
    let mut reading = tokio::spawn(reading);
    let _restore = Restore;
    let mut terminal = ratatui::try_init().map_err(|error| failed(&error))?;
    let mut input = read_input()?;
    update::settle(&mut model);
    loop {
        draw(&mut terminal, &model)?;
        tokio::select! {
            event = input.recv() => {
                let Some(event) = event else { return Ok(Exit::Ok) };
                match action(&mut model, &event) {
                    None => {}
                    Some(Action::Quit) => return Ok(Exit::Ok),
                    Some(action) => {
                        let (store, news) = (Arc::clone(&store), news_sender.clone());
                        tokio::spawn(async move {
                            let _ = news.send(News::Done(perform(store.as_ref(), action).await));
                        });
                    }
                }
                wanted.send_if_modified(|wanted| {
                    let has_changed = wanted.page != model.page;
                    wanted.page.clone_from(&model.page);
                    has_changed
                });
            }
            Some(first) = news.recv() => {
                if let News::Done(_) = first {
                    wanted.send_modify(|wanted| wanted.refreshes += 1);
                }
                if update::on_news(&mut model, first) {
                    redraw(&mut terminal).map_err(|error| failed(&error))?;
                }
            }
            ended = &mut reading => {
                let why = ended.err().map_or(String::new(), |error| error.to_string());
                return Err(CliError::internal(format!("the reader ended: {why}")));
            }
            () = signals.next() => return Ok(Exit::Ok),
            () = tokio::time::sleep(TICK) => {}
        }
    }
}

fn action(model: &mut Model, event: &Event) -> Option<Action> {
    match event {
        // Some terminals also send key releases.
        Event::Key(key) if key.kind != KeyEventKind::Release => update::on_key(model, *key),
        _ => None,
    }
}

fn draw(terminal: &mut DefaultTerminal, model: &Model) -> Result<()> {
    let drawn = terminal.draw(|frame| view::draw(frame, model, allows_colour()));
    drawn.map(|_| ()).map_err(|error| failed(&error))
}

/// Draws all cells with the next frame. `Terminal::clear` asks the terminal for the cursor, and the thread that
/// reads keys would take the reply.
fn redraw(terminal: &mut DefaultTerminal) -> io::Result<()> {
    let size = terminal.size()?;
    terminal.resize(Rect::new(0, 0, size.width, size.height))
}

/// Reads keys on a thread of its own, which blocks. It ends with the process.
fn read_input() -> Result<mpsc::UnboundedReceiver<Event>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let reading = move || {
        while let Ok(event) = event::read() {
            if sender.send(event).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("windlass-keys".to_owned());
    let started = thread.spawn(reading);
    started.map_err(|error| CliError::internal(format!("cannot start a thread: {error}")))?;
    Ok(receiver)
}

fn failed(error: &io::Error) -> CliError {
    CliError::unwritable(&error.to_string())
}
