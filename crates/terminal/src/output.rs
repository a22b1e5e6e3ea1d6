//! All printing: results on stdout, notes and errors on stderr.

mod escape;
mod table;

use std::error::Error as _;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use clap::error::{ContextKind, ContextValue, ErrorKind as UsageKind};
use console::Term;
use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;
use windlass::Error as CoreError;
use windlass_api::{Code, Error, ErrorReply};

use crate::exit::{CliError, Exit};

pub use escape::escape;

/// The output of a command.
#[derive(Debug, Clone)]
pub struct Output {
    is_json: bool,
    stdout: Arc<Mutex<Stdout>>,
}

/// State of stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stdout {
    Open,
    /// The reader closed the pipe, as `head` does. Not an error for most commands.
    Closed,
    /// A write failed.
    Failed(String),
}

/// Colours of status words. The word alone carries the meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Green,
    Yellow,
    Red,
}

impl Output {
    pub fn new(is_json: bool) -> Self {
        Self {
            is_json,
            stdout: Arc::new(Mutex::new(Stdout::Open)),
        }
    }

    /// Returns whether results are printed as JSON.
    pub fn is_json(&self) -> bool {
        self.is_json
    }

    /// Prints a result: as JSON with `--json`, else with `human`.
    pub fn result(&mut self, value: &impl Serialize, human: impl FnOnce(&mut Self)) {
        if self.is_json {
            self.write(format!("{}\n", json(value)).as_bytes());
        } else {
            human(self);
        }
    }

    /// Prints many results, one per line. On a terminal nothing is printed: the progress bar is shown.
    pub fn results<T: Serialize>(&mut self, values: &[T], human: impl Fn(&T) -> String) {
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

    /// Returns why a result could not be written, if so. A closed pipe is not an error.
    pub fn write_error(&self) -> Option<String> {
        match &*self.stdout.lock().unwrap_or_else(PoisonError::into_inner) {
            Stdout::Failed(why) => Some(why.clone()),
            Stdout::Open | Stdout::Closed => None,
        }
    }

    /// Returns why a result did not reach its reader, if so. For results that must arrive, such as
    /// claimed jobs: a closed pipe counts too.
    pub fn undelivered(&self) -> Option<String> {
        match &*self.stdout.lock().unwrap_or_else(PoisonError::into_inner) {
            Stdout::Failed(why) => Some(why.clone()),
            Stdout::Closed => Some("stdout is closed".to_owned()),
            Stdout::Open => None,
        }
    }

    /// Prints one line of text.
    pub fn line(&mut self, text: &str) {
        self.write(format!("{}\n", escape(text)).as_bytes());
    }

    /// Prints a coloured status word, then text.
    pub fn flagged(&mut self, word: &str, colour: Colour, text: &str) {
        let has_colour = io::stdout().is_terminal() && allows_colour();
        let word = paint(&format!("{word:<5}"), colour, has_colour);
        self.write(format!("{word} {}\n", escape(text)).as_bytes());
    }

    /// Prints a table, or nothing if there are no rows. Columns without any value are left out. On a
    /// terminal, the last column is cut to fit.
    pub fn table(&mut self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.flexible_table(header, rows.into_iter().collect(), 1);
    }

    /// Prints a table of which the last `flexible` columns are cut to fit a terminal.
    pub fn flexible_table(&mut self, header: &[&str], rows: Vec<Vec<String>>, flexible: usize) {
        if !rows.is_empty() {
            let text = table::table(header, rows, flexible, terminal_width());
            self.write(text.as_bytes());
        }
    }

    /// Prints names and values, one pair per line, with the line breaks of the value; missing values are
    /// skipped.
    pub fn fields(&mut self, fields: Vec<(&str, Option<String>)>) {
        let given = |(name, value): (_, Option<String>)| value.map(|value| (name, value));
        let fields: Vec<_> = fields.into_iter().filter_map(given).collect();
        self.write(table::fields(&fields).as_bytes());
    }

    /// Prints bytes unchanged.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.write(bytes);
    }

    /// Prints a note on stderr; nothing with `--json`.
    pub fn note(&mut self, text: &str) {
        if !self.is_json {
            print_stderr(&escape(text));
        }
    }

    /// Returns a function that prints notes, for work in the background.
    pub fn log_sink(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        let output = self.clone();
        Arc::new(move |text| output.clone().note(text))
    }

    /// Prints the cursor of the next page on stderr.
    pub fn next_page(&mut self, cursor: &str) {
        if self.is_json {
            print_stderr(&serde_json::json!({ "next_cursor": cursor }).to_string());
        } else {
            print_stderr(&format!(
                "more results: add --cursor '{}'",
                escape(&cursor.replace('\'', r"'\''"))
            ));
        }
    }

    /// Prints an error: what failed, why, and what to do.
    pub fn error(&mut self, error: &Error) {
        if self.is_json {
            let reply = ErrorReply {
                error: error.clone(),
            };
            print_stderr(&json(&reply));
            return;
        }
        let label = coloured("error:", Colour::Red);
        let line = error
            .line
            .map_or(String::new(), |line| format!("line {line}: "));
        print_stderr(&format!("{label} {line}{}", escape(&error.message)));
        if !error.help.is_empty() {
            print_stderr(&format!("  help: {}", escape(&error.help)));
        }
    }

    /// A progress bar over bytes; a spinner if the total is unknown. Shown on a terminal only.
    pub fn bar(bytes: Option<u64>) -> ProgressBar {
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

    /// A progress bar for one job. Shown on a terminal only.
    pub fn progress_bar() -> ProgressBar {
        let bar = ProgressBar::new(100);
        let template = "{wide_bar} {pos}% {elapsed} {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar
    }

    /// A progress bar over a number of jobs. Shown on a terminal only.
    pub fn count_bar(jobs: u64) -> ProgressBar {
        let bar = ProgressBar::new(jobs);
        let template = "{wide_bar} {human_pos}/{human_len} jobs {rate}/s {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", whole_rate));
        }
        bar
    }

    /// Writes to stdout. After a failed write or a closed pipe, further output is dropped and the
    /// command continues.
    fn write(&mut self, bytes: &[u8]) {
        let mut state = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != Stdout::Open {
            return;
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *state = Stdout::Closed,
            Err(error) => *state = Stdout::Failed(error.to_string()),
        }
    }
}

/// Returns text in colour, if stderr is a terminal that shows colours.
pub fn coloured(text: &str, colour: Colour) -> String {
    paint(text, colour, io::stderr().is_terminal() && allows_colour())
}

/// Prints a usage error, or the requested help.
pub fn usage(error: &clap::Error, is_json: bool) -> Exit {
    let is_help = matches!(
        error.kind(),
        UsageKind::DisplayHelp | UsageKind::DisplayVersion
    );
    // An invalid value is the same error as in the other interfaces.
    let source = error.source();
    if let Some(invalid) = source.and_then(|source| source.downcast_ref::<CoreError>()) {
        let mut failed = CliError::from(Error::from(invalid));
        if let Some(flag) = flag(error) {
            failed.details.message = format!("{flag}: {}", failed.details.message);
        }
        Output::new(is_json).error(&failed.details);
        return failed.exit;
    }
    if is_json && !is_help {
        let text = error.to_string();
        let (what, help) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
        let what = what.trim().trim_start_matches("error: ");
        let error = Error::new(Code::Usage, what, help.trim());
        Output::new(true).error(&error);
    } else {
        // There is nowhere to report a failure to print.
        let _ = error.print();
    }
    if is_help { Exit::Ok } else { Exit::Usage }
}

/// Returns the flag whose value is invalid. The name of a positional argument is in the message.
fn flag(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(usage) => usage.split(' ').next().filter(|word| word.starts_with('-')),
        _ => None,
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("replies are structs of plain values")
}

/// The width of stdout if it is a terminal. A pipe gets whole lines.
fn terminal_width() -> Option<usize> {
    let (_, columns) = Term::stdout().size_checked()?;
    (columns > 0).then_some(usize::from(columns))
}

/// Jobs per second as a whole number: more digits only flicker.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and far below the limit"
)]
fn whole_rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    // There is nowhere to report a failure to print.
    let _ = write!(text, "{}", HumanCount(state.per_sec().round() as u64));
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

/// Colours are off if `NO_COLOR` is not empty or `TERM` is `dumb`.
pub fn allows_colour() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_set("NO_COLOR") && !is_dumb
}

fn print_stderr(text: &str) {
    // A closed stderr is not an error.
    let _ = writeln!(io::stderr(), "{text}");
}
