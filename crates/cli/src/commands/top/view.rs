//! Draws the model. Every size works: what does not fit is left out.

use std::time::Instant;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row as Cells, Table as TableWidget, TableState, Wrap};
use windlass_api::JobReply;

use super::model::{Detail, Mode, Model, Page, STATES};
use super::rows::{self, Table, Tone, age, number, rate};
use crate::commands::job;
use crate::output::escape;

/// Below this many lines, only the selected panel of the overview is shown.
const PANELS_FROM: u16 = 12;

/// How many characters of a value a job in full shows.
const VALUE_MAX: usize = 4_000;

const HELP: &str = "\
up, down, j, k     select a row; page up, page down, home, end
tab                next panel, or next state of the jobs
enter              open the queue or the job
esc                clear the filter, or go back
/                  filter the rows by a text
p                  pause or resume the queue
r                  retry the dead job, or all dead jobs of the queue
d                  delete the finished job, or all dead jobs of the queue
q, ctrl-c          quit

IN/S and OUT/S are jobs enqueued and finished per second since the last
refresh. OLDEST is how long the first ready job has waited.";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, has_colour: bool) {
    let lines = [
        Constraint::Length(2),
        Constraint::Fill(1),
        Constraint::Length(1),
    ];
    let [head, body, foot] = Layout::vertical(lines).areas(frame.area());
    let view = View { model, has_colour };
    frame.render_widget(Paragraph::new(view.head()), head);
    match (&model.mode, &model.page) {
        (Mode::Help, _) => frame.render_widget(Paragraph::new(HELP), body),
        (_, Page::Overview) => view.overview(frame, body),
        (_, Page::Jobs(..)) => view.jobs(frame, body),
        (_, Page::Job(..)) => view.job(frame, body),
    }
    frame.render_widget(Paragraph::new(view.foot()), foot);
}

struct View<'a> {
    model: &'a Model,
    has_colour: bool,
}

impl View<'_> {
    fn style(&self, tone: Tone) -> Style {
        match tone {
            Tone::Warning if self.has_colour => Style::new().fg(Color::Yellow),
            Tone::Bad if self.has_colour => Style::new().fg(Color::Red),
            Tone::Bad => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new(),
        }
    }

    fn head(&self) -> Text<'_> {
        let (model, total) = (self.model, &self.model.snapshot.total);
        let page = match &model.page {
            Page::Overview => String::new(),
            Page::Jobs(queue, state) => format!(" > {queue} > {state}"),
            Page::Job(queue, id) => format!(" > {queue} > {}", escape(id)),
        };
        let title = format!("windlass top  {}{page}", escape(&model.store));
        let pending = match total.pending {
            0 => String::new(),
            pending => format!("  pending {}", number(pending)),
        };
        let numbers = format!(
            "ready {}{pending}  scheduled {}  running {}  dead {}  in {}/s  out {}/s  workers {}",
            number(total.ready),
            number(total.scheduled),
            number(total.running),
            number(total.dead),
            rate(total.in_per_second),
            rate(total.out_per_second),
            model.snapshot.workers.len(),
        );
        let numbers = match self.away() {
            Some(text) => Line::styled(text, self.style(Tone::Bad)),
            None => Line::from(numbers),
        };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        Text::from(vec![Line::styled(title, bold), numbers])
    }

    /// Returns what to show if the store does not answer.
    fn away(&self) -> Option<String> {
        let silent = Instant::now().saturating_duration_since(self.model.answered_at);
        let since = age(u64::try_from(silent.as_millis()).unwrap_or(u64::MAX));
        if let Some(error) = &self.model.error {
            return Some(format!(
                "store away since {since}; retrying: {}",
                escape(error)
            ));
        }
        let is_slow = silent > self.model.every * 2 + std::time::Duration::from_secs(3);
        is_slow.then(|| format!("store slow: no answer since {since}"))
    }

    fn foot(&self) -> Line<'_> {
        let model = self.model;
        let keys = match model.page {
            Page::Overview => {
                "enter open  tab panel  p pause  r retry  d delete  / filter  ? help  q quit"
            }
            Page::Jobs(..) => {
                "enter open  tab state  r retry  d delete  / filter  esc back  ? help  q quit"
            }
            Page::Job(..) => "r retry  d delete  p pause queue  esc back  ? help  q quit",
        };
        match &model.mode {
            Mode::Question(question, _) => Line::styled(
                escape(question),
                self.style(Tone::Warning).add_modifier(Modifier::BOLD),
            ),
            Mode::Filter => Line::from(format!("/{}_", escape(&model.filter))),
            Mode::Help => Line::from("any key goes back"),
            Mode::Normal if !model.message.is_empty() => Line::from(escape(&model.message)),
            Mode::Normal if !model.filter.is_empty() => Line::from(format!(
                "filter: {}  (esc clears it)",
                escape(&model.filter)
            )),
            Mode::Normal => Line::styled(keys, Style::new().add_modifier(Modifier::DIM)),
        }
    }

    fn overview(&self, frame: &mut Frame<'_>, area: Rect) {
        let selected = self.model.panel as usize;
        let mut tables = rows::shown(self.model);
        if area.height < PANELS_FROM {
            let table = tables.swap_remove(selected);
            return self.table(
                frame,
                area,
                &table,
                Some(&self.model.selections[selected].key),
            );
        }
        // A header line, the rows, and an empty line. Failures get what the others leave.
        let height = |table: &Table, max: u16| {
            let rows = u16::try_from(table.rows.len().max(1)).unwrap_or(u16::MAX);
            Constraint::Length(rows.saturating_add(2).min(max))
        };
        let heights = [
            height(&tables[0], area.height / 2),
            height(&tables[1], area.height / 4),
            Constraint::Fill(1),
        ];
        let areas: [Rect; 3] = Layout::vertical(heights).areas(area);
        for (at, (table, area)) in tables.iter().zip(areas).enumerate() {
            let key = (at == selected).then_some(&self.model.selections[at].key);
            let gap = u16::from(at < 2);
            let area = Rect {
                height: area.height.saturating_sub(gap),
                ..area
            };
            self.table(frame, area, table, key);
        }
    }

    fn jobs(&self, frame: &mut Frame<'_>, area: Rect) {
        let Page::Jobs(_, shown) = &self.model.page else {
            return;
        };
        let lines = [
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(1),
        ];
        let [tabs, area, more] = Layout::vertical(lines).areas(area);
        let name = |state: &windlass::JobState| {
            if state == shown {
                format!("[{state}]")
            } else {
                state.to_string()
            }
        };
        let states: Vec<_> = STATES.iter().map(name).collect();
        frame.render_widget(Paragraph::new(states.join("  ")), tabs);
        if let Some(table) = rows::selectable(self.model) {
            self.table(frame, area, &table, Some(&self.model.selections[3].key));
        }
        if let Detail::Jobs(jobs, true) = &self.model.detail {
            let text = format!("the first {}; `windlass job list` has all", jobs.len());
            frame.render_widget(Paragraph::new(text), more);
        }
    }

    fn job(&self, frame: &mut Frame<'_>, area: Rect) {
        let text = match &self.model.detail {
            Detail::Job(Some(job)) => in_full(job),
            Detail::Job(None) => {
                "this job is not stored any more: it finished and was not kept, or was deleted"
                    .to_owned()
            }
            _ => "reading…".to_owned(),
        };
        let last = u16::try_from(text.lines().count().saturating_sub(1)).unwrap_or(u16::MAX);
        let paragraph = Paragraph::new(text).wrap(Wrap { trim: false });
        frame.render_widget(paragraph.scroll((self.model.scroll.min(last), 0)), area);
    }

    /// Draws a table. Without a key, no row is selected.
    fn table(&self, frame: &mut Frame<'_>, area: Rect, table: &Table, key: Option<&String>) {
        let is_shown = |at: &usize| table.columns[*at].2 <= area.width;
        let columns: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
        let widths = columns.iter().map(|at| match table.columns[*at].1 {
            0 => Constraint::Fill(1),
            width => Constraint::Length(width),
        });
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let header = columns
            .iter()
            .map(|at| cell(table, *at, table.columns[*at].0));
        let rows = table.rows.iter().map(|row| {
            let cells = columns.iter().map(|at| cell(table, *at, &row.cells[*at]));
            Cells::new(cells).style(self.style(row.tone))
        });
        let selected = key.and_then(|key| table.rows.iter().position(|row| row.key == *key));
        let mut state = TableState::new().with_selected(selected);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        let widget = TableWidget::new(rows, widths)
            .header(Cells::new(header).style(bold))
            .row_highlight_style(reversed);
        frame.render_stateful_widget(widget, area, &mut state);
        if table.rows.is_empty() {
            let line = Rect {
                y: area.y.saturating_add(1),
                height: area.height.saturating_sub(1).min(1),
                ..area
            };
            let text = if self.model.filter.is_empty() {
                table.empty
            } else {
                "no match"
            };
            frame.render_widget(Paragraph::new(text), line);
        }
    }
}

/// Returns a cell. Narrow columns have numbers, which end at the right.
fn cell<'a>(table: &Table, column: usize, text: &'a str) -> Cell<'a> {
    let line = Line::from(text);
    match table.columns[column].1 {
        1..=7 => Cell::new(line.right_aligned()),
        _ => Cell::new(line),
    }
}

/// All fields of a job, each value with its own lines.
fn in_full(job: &JobReply) -> String {
    let mut lines = Vec::new();
    for (name, value) in job::get::fields(job) {
        let Some(value) = value else { continue };
        let mut shown: String = value.chars().take(VALUE_MAX).collect();
        if shown.len() < value.len() {
            shown.push_str("\n… (`windlass job get` shows all)");
        }
        for (number, line) in shown.lines().enumerate() {
            let name = if number == 0 { name } else { "" };
            lines.push(format!("{name:<16}  {}", escape(line)));
        }
    }
    lines.join("\n")
}
