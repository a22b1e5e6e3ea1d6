//! The medians as a plot: bars on logarithmic scales, minimum and maximum as whiskers.

use windlass_bench::Spread;

use super::record::{Record, Runs};
use crate::number::shown;

const WIDTH: f64 = 860.0;

/// Horizontal extent of the bars; names are left of them, values right.
const LEFT: f64 = 200.0;
const RIGHT: f64 = 730.0;

/// Height of one queue.
const ROW: f64 = 26.0;

/// Space for the title above the bars and the scale below them.
const TOP: f64 = 62.0;
const BOTTOM: f64 = 34.0;

/// Light by default, dark if the reader's system is.
const STYLE: &str = include_str!("plot.css");

/// One of the two plots.
struct Panel {
    title: &'static str,
    value: fn(&Runs) -> Option<Spread>,
    /// Whether the longest bar is the best.
    is_higher_better: bool,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "Jobs processed per second (higher is better)",
        value: |runs| runs.process(),
        is_higher_better: true,
    },
    Panel {
        title: "Enqueue to start in an idle worker, ms, p50 (lower is better)",
        value: |runs| runs.pickup(),
        is_higher_better: false,
    },
];

/// The plot as SVG.
pub(super) fn draw(record: &Record) -> String {
    let mut body = String::new();
    let mut top = 0.0;
    for panel in &PANELS {
        body += &drawn(record, panel, top);
        top += height(record);
    }
    let legend = [
        ("ours", "Windlass"),
        ("keeps", "a job survives the crash of its worker"),
        ("loses", "a job is lost with its worker"),
    ];
    let mut at = 16.0;
    for (class, words) in legend {
        let (box_y, text_y) = (top + 4.0, top + 15.0);
        body += &rectangle(class, (at, box_y), (14.0, 14.0));
        body += &text(at + 20.0, text_y, "small", "start", words);
        at += 52.0 + 6.2 * size(words.chars().count());
    }
    let last = top + 40.0;
    let caption = format!(
        "Rounds: {}. Bars are medians, whiskers minimum to maximum, on logarithmic scales; {}, {} cores",
        record.peers.first().map_or(0, |runs| runs.rounds.len()),
        record.date,
        record.machine.cores
    );
    body += &text(16.0, last, "small", "start", &caption);
    let full = last + 14.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {full}\" role=\"img\" \
         aria-label=\"Windlass compared with other queues\">\n<style>\n{STYLE}</style>\n\
         <rect class=\"background\" width=\"{WIDTH}\" height=\"{full}\"/>\n{body}</svg>\n"
    )
}

fn height(record: &Record) -> f64 {
    TOP + ROW * size(record.peers.len()) + BOTTOM
}

fn drawn(record: &Record, panel: &Panel, top: f64) -> String {
    let mut rows: Vec<_> = record
        .peers
        .iter()
        .map(|runs| (runs, (panel.value)(runs)))
        .collect();
    // The best first; queues without a value come last.
    rows.sort_by(|(_, one), (_, other)| {
        let key = |spread: &Option<Spread>| match spread {
            Some(spread) if panel.is_higher_better => -spread.median,
            Some(spread) => spread.median,
            None => f64::INFINITY,
        };
        key(one).total_cmp(&key(other))
    });
    let mut out = text(16.0, top + 30.0, "title", "start", panel.title);
    let scale = Scale::of(rows.iter().filter_map(|(_, spread)| *spread));
    let (first, last) = (top + TOP, top + height(record) - BOTTOM);
    for power in scale.from..=scale.to {
        let x = scale.position(10_f64.powi(power));
        let (from, to) = (first - 6.0, last + 4.0);
        out += &line("grid", (x, from), (x, to));
        out += &text(x, last + 18.0, "small", "middle", &tick(power));
    }
    for (at, (runs, spread)) in rows.iter().enumerate() {
        out += &bar(runs, *spread, &scale, first + ROW * size(at));
    }
    out
}

fn bar(runs: &Runs, spread: Option<Spread>, scale: &Scale, top: f64) -> String {
    let middle = top + ROW / 2.0;
    let name = format!("{} {}", runs.name, runs.version);
    let mut out = text(LEFT - 10.0, middle + 4.5, "", "end", &name);
    let Some(spread) = spread else {
        out += &text(LEFT + 6.0, middle + 4.5, "small", "start", "failed");
        return out;
    };
    let class = match runs {
        runs if runs.name == "windlass" => "ours",
        runs if runs.keeps_jobs => "keeps",
        _ => "loses",
    };
    let (min, median, max) = (
        scale.position(spread.min),
        scale.position(spread.median),
        scale.position(spread.max),
    );
    let (y, width) = (top + 4.0, median - LEFT);
    let tall = ROW - 8.0;
    out += &rectangle(class, (LEFT, y), (width, tall));
    let (above, below) = (middle - 4.0, middle + 4.0);
    out += &line("whisker", (min, middle), (max, middle));
    out += &line("whisker", (min, above), (min, below));
    out += &line("whisker", (max, above), (max, below));
    out + &text(max + 8.0, middle + 4.5, "", "start", &shown(spread.median))
}

/// The powers of ten at the left and the right end.
struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    fn of(spreads: impl Iterator<Item = Spread>) -> Self {
        let all: Vec<f64> = spreads
            .flat_map(|spread| [spread.min, spread.max])
            .filter(|value| *value > 0.0)
            .collect();
        let min = all.iter().copied().fold(f64::INFINITY, f64::min);
        let max = all.iter().copied().fold(0.0, f64::max);
        if all.is_empty() {
            return Self { from: 0, to: 1 };
        }
        let mut scale = Self { from: -6, to: 9 };
        // Leave room so that the shortest bar is visible.
        while 10_f64.powi(scale.from + 1) < min * 0.7 {
            scale.from += 1;
        }
        while scale.to > scale.from + 1 && 10_f64.powi(scale.to - 1) >= max {
            scale.to -= 1;
        }
        scale
    }

    fn position(&self, value: f64) -> f64 {
        let (from, to) = (f64::from(self.from), f64::from(self.to));
        let part = (value.max(f64::MIN_POSITIVE).log10() - from) / (to - from);
        LEFT + (RIGHT - LEFT) * part.clamp(0.0, 1.0)
    }
}

fn tick(power: i32) -> String {
    match power {
        ..0 => format!("{}", 10_f64.powi(power)),
        0 => "1".to_owned(),
        _ => shown(10_f64.powi(power)).replace(".0", ""),
    }
}

fn rectangle(class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"2\"/>\n"
    )
}

fn line(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> String {
    format!(
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
    )
}

/// Converts a count to a length.
fn size(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

fn text(x: f64, y: f64, class: &str, anchor: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::super::record::example;
    use super::*;

    #[test]
    fn every_queue_is_in_both_plots_and_the_failed_one_is_marked() {
        let svg = draw(&example());
        for name in ["windlass 0.1.0", "keeper 2", "slow 1.2.3", "broken 9"] {
            assert_eq!(svg.matches(&format!(">{name}<")).count(), 2, "{name}");
        }
        assert_eq!(svg.matches(">failed<").count(), 2);
    }

    #[test]
    fn a_bar_ends_where_its_median_is_on_the_scale() {
        let spread = |value| Spread::of([value]).expect("one");
        let scale = Scale::of([spread(20.0), spread(900.0)].into_iter());
        assert_eq!((scale.from, scale.to), (1, 3));
        assert!((scale.position(10.0) - LEFT).abs() < 1e-9);
        assert!((scale.position(100.0) - f64::midpoint(LEFT, RIGHT)).abs() < 1e-9);
        assert!((scale.position(1_000.0) - RIGHT).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_whole_powers_of_ten() {
        let all = [-2, 0, 2, 3, 4, 5, 6];
        assert_eq!(
            all.map(tick),
            [
                "0.01",
                "1",
                "100",
                "1 000",
                "10 000",
                "100 000",
                "1 000 000"
            ]
        );
    }
}
