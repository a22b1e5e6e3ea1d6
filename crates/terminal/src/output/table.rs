//! Tables and lists of fields: aligned columns that fit the terminal.

use console::{measure_text_width, truncate_str};

use super::escape;

/// Between two columns.
const GAP: &str = "  ";

/// The narrowest that a column is cut to.
const CUT_MIN: usize = 8;

/// Returns a table. Columns without any value are left out. If it is wider than `width`, the last `flexible`
/// columns are cut, the widest first.
pub(super) fn table(
    header: &[&str],
    rows: Vec<Vec<String>>,
    flexible: usize,
    width: Option<usize>,
) -> String {
    let has_value = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.into_iter().any(|cell| !cell.is_empty())
    };
    let columns: Vec<usize> = (0..header.len()).filter(|at| has_value(*at)).collect();
    let names = columns.iter().map(|at| header[*at].to_uppercase());
    let mut lines: Vec<Vec<String>> = vec![names.collect()];
    lines.extend(rows.into_iter().map(|row| {
        let cells = row.into_iter().enumerate();
        let shown = cells.filter(|(at, _)| columns.contains(at));
        shown.map(|(_, cell)| escape(&cell)).collect()
    }));
    let width_of =
        |line: &Vec<String>, at: usize| measure_text_width(line.get(at).map_or("", String::as_str));
    let widest = |at| lines.iter().map(|line| width_of(line, at)).max();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|at| widest(at).unwrap_or(0))
        .collect();
    if let Some(width) = width {
        let first = header.len().saturating_sub(flexible);
        cut(&mut widths, width, |at| columns[at] >= first);
    }
    lines.iter().map(|line| aligned(line, &widths)).collect()
}

/// Returns names and values, one pair per line. Further lines of a value are aligned with its first.
pub(super) fn fields(fields: &[(&str, String)]) -> String {
    let names = fields.iter().map(|(name, _)| measure_text_width(name));
    let widths = [names.max().unwrap_or(0), 0];
    let mut text = String::new();
    for (name, value) in fields {
        let mut name = (*name).to_owned();
        // An empty value is a line too.
        for line in value.lines().chain(value.is_empty().then_some("")) {
            let line = escape(&line.replace('\t', "    "));
            text += &aligned(&[std::mem::take(&mut name), line], &widths);
        }
    }
    text
}

/// Narrows columns that may be cut until the table fits, or none can be narrowed further.
fn cut(widths: &mut [usize], width: usize, is_flexible: impl Fn(usize) -> bool) {
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        let candidates = (0..widths.len()).filter(|at| is_flexible(*at) && widths[*at] > CUT_MIN);
        let Some(widest) = candidates.max_by_key(|at| widths[*at]) else {
            return;
        };
        widths[widest] -= 1;
    }
}

fn aligned(cells: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let is_last = at + 1 == cells.len();
        // The last value of a list of fields has no width.
        let cell = match width {
            0 => cell.into(),
            width => truncate_str(cell, *width, "…"),
        };
        line += &cell;
        if !is_last {
            let padding = width.saturating_sub(measure_text_width(&cell));
            line.extend(std::iter::repeat_n(' ', padding));
            line += GAP;
        }
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let row = |row: &&[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        rows.iter().map(row).collect()
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let jobs = rows(&[&["1", "", "räk"], &["22", "", "x\ny"]]);
        let text = table(&["id", "kind", "error"], jobs, 1, None);
        assert_eq!(text, "ID  ERROR\n1   räk\n22  x\\ny\n");
    }

    #[test]
    fn a_table_is_cut_to_fit_the_terminal() {
        let long = "no route to host example.com";
        let jobs = rows(&[&["1", "send_many_letters", long]]);
        let header = ["id", "kind", "error"];

        let text = table(&header, jobs.clone(), 2, Some(30));

        assert_eq!(
            text,
            "ID  KIND          ERROR\n1   send_many_l…  no route to…\n"
        );
        assert!(table(&header, jobs, 2, None).contains(long));
        // Wide characters count twice, and the first column is never cut.
        let wide = rows(&[&["012345678901234", "日本語日本語日本語"]]);
        let text = table(&["id", "error"], wide, 1, Some(25));
        assert_eq!(text, "ID               ERROR\n012345678901234  日本語…\n");
    }

    #[test]
    fn lines_of_a_value_are_kept_and_cannot_command_the_terminal() {
        let text = fields(&[
            ("id", "1".to_owned()),
            ("error", "a\n\tb\x1b[2J\n".to_owned()),
            ("result", String::new()),
        ]);
        assert_eq!(
            text,
            "id      1\nerror   a\n            b\\u{1b}[2J\nresult\n"
        );
    }
}
