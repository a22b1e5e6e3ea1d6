//! The medians as a plot: bars on logarithmic scales, the least and the most as whiskers.

use super::number::{Spread, shown};
use super::record::{Record, Runs};

const WIDTH: f64 = 860.0;

/// Where bars begin and end; names are left of them, figures right.
const LEFT: f64 = 200.0;
const RIGHT: f64 = 730.0;

/// One queue.
const ROW: f64 = 26.0;

/// A title and a scale below the bars.
const TOP: f64 = 62.0;
const BOTTOM: f64 = 34.0;

/// Light unless the reader's screen is dark.
const STYLE: &str = "\
text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.small { font-size: 11px; fill: #59636e; }
.ground { fill: #ffffff; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.ours { fill: #0969da; }
.keeps { fill: #6e9fc8; }
.loses { fill: #d4a05a; }
.whisker { stroke: #1f2328; stroke-width: 1.4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9198a1; }
  .ground { fill: #0d1117; }
  .grid { stroke: #3d444d; }
  .ours { fill: #4493f8; }
  .keeps { fill: #4d7ba3; }
  .loses { fill: #a87a35; }
  .whisker { stroke: #e6edf3; }
}
";

/// One of the two pictures.
struct Panel {
    title: &'static str,
    figure: fn(&Runs) -> Option<Spread>,
    /// Whether the longest bar is the best one.
    is_more_better: bool,
}

const PANELS: [Panel; 2] = [
    Panel {
        title: "Jobs worked off per second (more is better)",
        figure: |runs| runs.process(),
        is_more_better: true,
    },
    Panel {
        title: "From enqueue to the start in an idle worker, ms, p50 (less is better)",
        figure: |runs| runs.pickup(),
        is_more_better: false,
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
        ("keeps", "a job outlives the crash of its worker"),
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
    let told = format!(
        "Rounds: {}. Bars are medians, whiskers from the least to the most, on logarithmic scales; {}, {} cores",
        record.peers.first().map_or(0, |runs| runs.rounds.len()),
        record.date,
        record.machine.cores
    );
    body += &text(16.0, last, "small", "start", &told);
    let full = last + 14.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {full}\" role=\"img\" \
         aria-label=\"Windlass beside other queues\">\n<style>\n{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{full}\"/>\n{body}</svg>\n"
    )
}

fn height(record: &Record) -> f64 {
    TOP + ROW * size(record.peers.len()) + BOTTOM
}

fn drawn(record: &Record, panel: &Panel, top: f64) -> String {
    let mut rows: Vec<_> = record
        .peers
        .iter()
        .map(|runs| (runs, (panel.figure)(runs)))
        .collect();
    // The best first; who has no figure is last, and still there.
    rows.sort_by(|(_, one), (_, other)| {
        let key = |spread: &Option<Spread>| match spread {
            Some(spread) if panel.is_more_better => -spread.median,
            Some(spread) => spread.median,
            None => f64::INFINITY,
        };
        key(one).total_cmp(&key(other))
    });
    let mut out = text(16.0, top + 30.0, "title", "start", panel.title);
    let scale = Scale::of(rows.iter().filter_map(|(_, spread)| *spread));
    let (first, last) = (top + TOP, top + height(record) - BOTTOM);
    for power in scale.from..=scale.to {
        let x = scale.place(10_f64.powi(power));
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
    let (least, median, most) = (
        scale.place(spread.least),
        scale.place(spread.median),
        scale.place(spread.most),
    );
    let (y, width) = (top + 4.0, median - LEFT);
    let tall = ROW - 8.0;
    out += &rectangle(class, (LEFT, y), (width, tall));
    let (above, below) = (middle - 4.0, middle + 4.0);
    out += &line("whisker", (least, middle), (most, middle));
    out += &line("whisker", (least, above), (least, below));
    out += &line("whisker", (most, above), (most, below));
    out + &text(most + 8.0, middle + 4.5, "", "start", &shown(spread.median))
}

/// Powers of ten between the left and the right end.
struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    fn of(spreads: impl Iterator<Item = Spread>) -> Self {
        let all: Vec<f64> = spreads
            .flat_map(|spread| [spread.least, spread.most])
            .filter(|figure| *figure > 0.0)
            .collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        if all.is_empty() {
            return Self { from: 0, to: 1 };
        }
        let mut scale = Self { from: -6, to: 9 };
        // The shortest bar is still a bar.
        while 10_f64.powi(scale.from + 1) < least * 0.7 {
            scale.from += 1;
        }
        while scale.to > scale.from + 1 && 10_f64.powi(scale.to - 1) >= most {
            scale.to -= 1;
        }
        scale
    }

    fn place(&self, figure: f64) -> f64 {
        let (from, to) = (f64::from(self.from), f64::from(self.to));
        let part = (figure.max(f64::MIN_POSITIVE).log10() - from) / (to - from);
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

/// How many, as a length.
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
    fn every_queue_is_in_both_pictures_and_the_failed_one_says_so() {
        let svg = draw(&example());
        for name in ["windlass 0.1.0", "keeper 2", "slow 1.2.3", "broken 9"] {
            assert_eq!(svg.matches(&format!(">{name}<")).count(), 2, "{name}");
        }
        assert_eq!(svg.matches(">failed<").count(), 2);
    }

    #[test]
    fn a_bar_ends_where_its_median_is_on_the_scale() {
        let spread = |figure| Spread::of([figure]).expect("one");
        let scale = Scale::of([spread(20.0), spread(900.0)].into_iter());
        assert_eq!((scale.from, scale.to), (1, 3));
        assert!((scale.place(10.0) - LEFT).abs() < 1e-9);
        assert!((scale.place(100.0) - f64::midpoint(LEFT, RIGHT)).abs() < 1e-9);
        assert!((scale.place(1_000.0) - RIGHT).abs() < 1e-9);
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
