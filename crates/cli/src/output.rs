//! The only place that prints: results on standard output, talk on standard error.

mod escape;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::ErrorKind as UsageKind;
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use windlass_api::{Error, ErrorReply};

use crate::exit::Exit;

pub(crate) use escape::escape;

/// How this run prints.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    is_json: bool,
    stdout: Arc<Mutex<Reader>>,
}

/// Whoever reads standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reader {
    Listens,
    /// It has what it wanted; that is no failure.
    WentAway,
    /// The results cannot be written.
    Failed(String),
}

/// The colours in use; what they mean stands beside them in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Green,
    Yellow,
    Red,
}

impl Output {
    pub(crate) fn new(is_json: bool) -> Self {
        Self {
            is_json,
            stdout: Arc::new(Mutex::new(Reader::Listens)),
        }
    }

    /// Prints a result: as JSON when that was asked for, else as `human` does.
    pub(crate) fn result(&mut self, value: &impl Serialize, human: impl FnOnce(&mut Self)) {
        if self.is_json {
            self.write(format!("{}\n", json(value)).as_bytes());
        } else {
            human(self);
        }
    }

    /// Prints many results, one a line. A person at a terminal is served better by the bar.
    pub(crate) fn results<T: Serialize>(&mut self, values: &[T], human: impl Fn(&T) -> String) {
        if !self.is_json && io::stdout().is_terminal() {
            return;
        }
        let mut text = String::new();
        for value in values {
            if self.is_json {
                text.push_str(&json(value));
            } else {
                text.push_str(&escape(&human(value)));
            }
            text.push('\n');
        }
        self.write(text.as_bytes());
    }

    /// Why results could not be written, if so.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.stdout.lock().unwrap_or_else(PoisonError::into_inner) {
            Reader::Failed(why) => Some(why.clone()),
            Reader::Listens | Reader::WentAway => None,
        }
    }

    /// Why results did not arrive, if so: for those that nobody may miss, a reader that went away
    /// is a failure as well.
    pub(crate) fn unheard(&self) -> Option<String> {
        match &*self.stdout.lock().unwrap_or_else(PoisonError::into_inner) {
            Reader::Failed(why) => Some(why.clone()),
            Reader::WentAway => Some("nobody reads standard output any more".to_owned()),
            Reader::Listens => None,
        }
    }

    /// One line of text.
    pub(crate) fn line(&mut self, text: &str) {
        self.write(format!("{}\n", escape(text)).as_bytes());
    }

    /// A word in colour, then text.
    pub(crate) fn flagged(&mut self, word: &str, colour: Colour, text: &str) {
        let has_colour = io::stdout().is_terminal() && allows_colour();
        let word = paint(&format!("{word:<5}"), colour, has_colour);
        self.write(format!("{word} {}\n", escape(text)).as_bytes());
    }

    /// A table; nothing where there are no rows.
    pub(crate) fn table(&mut self, header: &[&str], rows: Vec<Vec<String>>) {
        if rows.is_empty() {
            return;
        }
        let mut table = plain_table();
        table.set_header(header.iter().map(|name| name.to_uppercase()));
        for row in rows {
            table.add_row(row.iter().map(|cell| escape(cell)));
        }
        self.write_table(table);
    }

    /// Names and values, one pair a line; absent values are left out.
    pub(crate) fn fields(&mut self, fields: Vec<(&str, Option<String>)>) {
        let mut table = plain_table();
        for (name, value) in fields {
            if let Some(value) = value {
                table.add_row([name.to_owned(), escape(&value)]);
            }
        }
        self.write_table(table);
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    /// A remark for people; programs that asked for JSON are spared it.
    pub(crate) fn talk(&mut self, text: &str) {
        if !self.is_json {
            say(&escape(text));
        }
    }

    /// Where a listing goes on.
    pub(crate) fn next_page(&mut self, cursor: &str) {
        if self.is_json {
            say(&serde_json::json!({ "next_cursor": cursor }).to_string());
        } else {
            say(&format!(
                "there are more: add --cursor '{}'",
                escape(&cursor.replace('\'', r"'\''"))
            ));
        }
    }

    /// What went wrong, why, and what to do next.
    pub(crate) fn problem(&mut self, problem: &Error) {
        if self.is_json {
            let reply = ErrorReply {
                error: problem.clone(),
            };
            say(&json(&reply));
            return;
        }
        let has_colour = io::stderr().is_terminal() && allows_colour();
        let word = paint("error:", Colour::Red, has_colour);
        let line = problem
            .line
            .map_or(String::new(), |line| format!("line {line}: "));
        say(&format!("{word} {line}{}", escape(&problem.message)));
        if !problem.help.is_empty() {
            say(&format!("  help: {}", escape(&problem.help)));
        }
    }

    /// A bar on standard error: over so many bytes, or counting where nobody knows how many.
    /// It shows on a terminal only.
    pub(crate) fn bar(bytes: Option<u64>) -> ProgressBar {
        let (bar, template) = match bytes {
            Some(bytes) => (
                ProgressBar::new(bytes),
                "{msg} {wide_bar} {bytes}/{total_bytes} {eta}",
            ),
            None => (
                ProgressBar::new_spinner(),
                "{spinner} {msg} {bytes} {elapsed}",
            ),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// A bar for the progress of one job; on a terminal only.
    pub(crate) fn progress_bar() -> ProgressBar {
        let bar = ProgressBar::new(100);
        let template = "{wide_bar} {pos}% {elapsed} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// A bar on standard error over so many jobs. It shows on a terminal only.
    pub(crate) fn count_bar(jobs: u64) -> ProgressBar {
        let bar = ProgressBar::new(jobs);
        let template = "{wide_bar} {human_pos}/{human_len} jobs {per_sec} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    fn write_table(&mut self, mut table: Table) {
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        self.write(text.as_bytes());
    }

    /// Writes to standard output. A reader that went away is no failure: the work goes on unheard.
    fn write(&mut self, bytes: &[u8]) {
        let mut reader = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        if *reader != Reader::Listens {
            return;
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *reader = Reader::WentAway,
            Err(error) => *reader = Reader::Failed(error.to_string()),
        }
    }
}

/// Prints what is wrong with the line that was typed, or the help it asked for.
pub(crate) fn usage(error: &clap::Error, is_json: bool) -> Exit {
    let asked = matches!(
        error.kind(),
        UsageKind::DisplayHelp | UsageKind::DisplayVersion
    );
    if is_json && !asked {
        let text = error.to_string();
        let (what, help) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
        let what = what.trim().trim_start_matches("error: ");
        let problem = Error::new("usage", what, help.trim());
        Output::new(true).problem(&problem);
    } else {
        // Nobody is left to hear that printing failed.
        let _ = error.print();
    }
    if asked { Exit::Ok } else { Exit::Usage }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("replies are structs of plain values")
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn paint(text: &str, colour: Colour, has_colour: bool) -> String {
    let code = match colour {
        Colour::Green => 32,
        Colour::Yellow => 33,
        Colour::Red => 31,
    };
    if has_colour {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Colours are off when `NO_COLOR` has any value, and on terminals that know none.
fn allows_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_set("NO_COLOR") && !is_dumb
}

fn say(text: &str) {
    // Talk that nobody hears is no failure.
    let _ = writeln!(io::stderr(), "{text}");
}
