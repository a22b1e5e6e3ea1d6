//! Charts as SVG: lines over time, sparklines and bars. They have no text of their own, so that they stretch to any
//! width: axes and legends are HTML around them, and a sentence says the same to people who cannot see them.

use std::fmt::Write;

use askama::Template;

use super::format::Count;

/// The size of the drawing, in its own units.
const WIDTH: usize = 1000;
const HEIGHT: usize = 200;

/// Values over time, oldest first.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) name: &'static str,
    /// The class that has its colour.
    pub(super) class: &'static str,
    /// Missing where nothing was measured.
    pub(super) values: Vec<Option<u64>>,
}

/// What the values of a chart are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Jobs per minute.
    PerMinute,
    Milliseconds,
}

impl Unit {
    fn text(self, value: u64) -> String {
        match self {
            Self::PerMinute => format!("{}/min", Count(value)),
            Self::Milliseconds => milliseconds(value),
        }
    }
}

/// A time as short as an axis needs: `250 ms`, `1.5 s`, `3 min`, `2 h`.
pub(super) fn milliseconds(ms: u64) -> String {
    let (unit, name) = match ms {
        0..1000 => return format!("{ms} ms"),
        1000..120_000 => (1000, "s"),
        120_000..7_200_000 => (60_000, "min"),
        _ => (3_600_000, "h"),
    };
    match (ms / unit, ms % unit * 10 / unit) {
        (whole, tenth) if whole < 10 && tenth > 0 => format!("{whole}.{tenth} {name}"),
        (whole, _) => format!("{whole} {name}"),
    }
}

#[derive(Debug, Template)]
#[template(path = "chart/lines.html")]
pub(super) struct Lines {
    title: String,
    /// The sentence for people who cannot see the chart.
    about: String,
    top: String,
    middle: String,
    /// Labels of the time axis.
    times: Vec<String>,
    parts: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    class: &'static str,
    latest: String,
    path: String,
    area: String,
}

impl Lines {
    /// Draws one line per series, all on one scale. `times` are labels of the time axis, oldest first.
    pub(super) fn new(
        title: impl Into<String>,
        unit: Unit,
        series: &[Series],
        times: Vec<String>,
    ) -> Self {
        let title = title.into();
        let values = series.iter().flat_map(|series| series.values.iter());
        let top = round_up(values.flatten().copied().max().unwrap_or(0));
        let line = |series: &Series| {
            let latest = series.values.iter().rev().flatten().next();
            let (path, area) = draw(&series.values, top);
            Line {
                name: series.name,
                class: series.class,
                latest: latest.map_or_else(|| "–".to_owned(), |latest| unit.text(*latest)),
                path,
                area,
            }
        };
        let lines: Vec<_> = series.iter().map(line).collect();
        let mut about = format!("{title}.");
        for (line, series) in lines.iter().zip(series) {
            let highest = series.values.iter().flatten().max();
            let highest = highest.map_or_else(|| "none".to_owned(), |value| unit.text(*value));
            // Writing to a String cannot fail, here and below.
            let _ = write!(
                about,
                " {}: now {}, highest {highest}.",
                line.name, line.latest
            );
        }
        Self {
            title,
            about,
            top: unit.text(top),
            middle: unit.text(top / 2),
            times,
            parts: lines,
        }
    }
}

/// A line without axes, for a cell of a table.
#[derive(Debug, Template)]
#[template(path = "chart/sparkline.html")]
pub(super) struct Sparkline {
    about: String,
    line: String,
    area: String,
}

impl Sparkline {
    pub(super) fn new(about: impl Into<String>, values: &[u64]) -> Self {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        let top = values.iter().flatten().copied().max().unwrap_or(0).max(1);
        let (line, area) = draw(&values, top);
        Self {
            about: about.into(),
            line,
            area,
        }
    }
}

/// Bars with a label each, such as the ready jobs of each priority.
#[derive(Debug, Template)]
#[template(path = "chart/bars.html")]
pub(super) struct Bars {
    title: String,
    bars: Vec<Bar>,
}

#[derive(Debug)]
struct Bar {
    label: String,
    value: Count,
    /// In hundredths of the longest.
    length: u64,
}

impl Bars {
    pub(super) fn new(title: impl Into<String>, values: Vec<(String, u64)>) -> Self {
        let longest = values.iter().map(|(_, value)| *value).max().unwrap_or(0);
        let bar = |(label, value): (String, u64)| Bar {
            label,
            value: Count(value),
            length: (value.saturating_mul(100) / longest.max(1)).max(u64::from(value > 0)),
        };
        Self {
            title: title.into(),
            bars: values.into_iter().map(bar).collect(),
        }
    }
}

/// Rounds up to 1, 2 or 5 and zeros, so that an axis has even numbers.
fn round_up(value: u64) -> u64 {
    let mut unit = 1_u64;
    loop {
        for factor in [2, 4, 10] {
            let top = unit.saturating_mul(factor);
            if value <= top {
                return top;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// Returns the path of a line and of the area below it. A missing value interrupts both.
fn draw(values: &[Option<u64>], top: u64) -> (String, String) {
    let (mut line, mut area) = (String::new(), String::new());
    let steps = values.len().saturating_sub(1).max(1);
    let x = |at: usize| at * WIDTH / steps;
    let y = |value: u64| {
        let height = u128::from(value.min(top)) * HEIGHT as u128 / u128::from(top.max(1));
        HEIGHT - usize::try_from(height).unwrap_or(HEIGHT)
    };
    let mut start = None;
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value else {
            close(&mut area, start.take(), at.saturating_sub(1), x);
            continue;
        };
        let command = if start.is_none() { 'M' } else { 'L' };
        let (x, y) = (x(at), y(*value));
        let _ = write!(line, "{command}{x} {y}");
        if start.is_none() {
            start = Some(at);
            let _ = write!(area, "M{x} {HEIGHT}");
        }
        let _ = write!(area, "L{x} {y}");
    }
    close(&mut area, start, values.len().saturating_sub(1), x);
    (line, area)
}

fn close(area: &mut String, start: Option<usize>, end: usize, x: impl Fn(usize) -> usize) {
    if start.is_some() {
        let _ = write!(area, "L{} {HEIGHT}Z", x(end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_an_even_number() {
        for (value, top) in [
            (0, 2),
            (2, 2),
            (3, 4),
            (5, 10),
            (11, 20),
            (399, 400),
            (401, 1000),
        ] {
            assert_eq!(round_up(value), top, "{value}");
        }
        assert_eq!(round_up(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_line_spans_the_width_and_is_interrupted_where_nothing_was_measured() {
        let (line, area) = draw(&[Some(0), Some(10), Some(5)], 10);
        assert_eq!(line, "M0 200L500 0L1000 100");
        assert_eq!(area, "M0 200L0 200L500 0L1000 100L1000 200Z");
        let (line, _) = draw(&[Some(1), None, Some(1), Some(1)], 1);
        assert_eq!(line, "M0 0M666 0L1000 0");
        assert_eq!(draw(&[], 1), (String::new(), String::new()));
        assert_eq!(draw(&[Some(u64::MAX)], u64::MAX).0, "M0 0");
    }

    #[test]
    fn a_chart_has_a_sentence_that_says_the_same() {
        let series = Series {
            name: "In",
            class: "ready",
            values: vec![Some(3), Some(1500), Some(20)],
        };
        let chart = Lines::new("Throughput", Unit::PerMinute, &[series], vec![]);
        let html = chart.render().unwrap();
        assert!(
            html.contains("In: now 20/min, highest 1,500/min."),
            "{html}"
        );
        assert!(!html.contains("style="));
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1500, "1.5 s"),
            (60_000, "60 s"),
            (180_000, "3 min"),
            (7_200_000, "2 h"),
        ] {
            assert_eq!(milliseconds(ms), text);
        }
    }

    #[test]
    fn the_longest_bar_is_full_and_a_small_one_is_visible() {
        let bars = Bars::new(
            "By priority",
            vec![("0".into(), 1), ("1".into(), 1000), ("2".into(), 0)],
        );
        let lengths: Vec<_> = bars.bars.iter().map(|bar| bar.length).collect();
        assert_eq!(lengths, [1, 100, 0]);
    }
}
