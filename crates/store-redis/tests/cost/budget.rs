//! Figures beside their budgets: none may grow, and a gain is kept by lowering the budget.

use std::fmt::Write;

/// What is measured, how many jobs a call carries, and its figures, one for each column.
pub(crate) type Row<const N: usize> = (&'static str, usize, [f64; N]);

/// Below this part of its budget a figure has fallen so far that the budget must follow.
const KEPT: f64 = 2.0 / 3.0;

/// Figures of whole bytes and calls differ by less than this for no reason but rounding.
const ROUNDING: f64 = 1e-6;

/// Fails where a figure is over its budget, or so far below that the budget is worth lowering. With
/// `WINDLASS_COST=print` it prints the table anew instead, with `slack` times what was measured.
#[track_caller]
pub(crate) fn hold<const N: usize>(
    columns: [&str; N],
    budgets: &[Row<N>],
    measured: &[Row<N>],
    slack: f64,
) {
    let table = table(measured, slack);
    if std::env::var_os("WINDLASS_COST").is_some_and(|word| word == "print") {
        println!("\n{table}");
        return;
    }
    let faults = faults(columns, budgets, measured);
    assert!(
        faults.is_empty(),
        "{faults}the figures of now, as a table:\n{table}"
    );
}

/// A line for each figure that is not within its budget, and for each row that is in one table only.
fn faults<const N: usize>(columns: [&str; N], budgets: &[Row<N>], measured: &[Row<N>]) -> String {
    let mut faults = String::new();
    let find = |rows: &[Row<N>], (what, batch, _): &Row<N>| {
        let mut rows = rows.iter();
        rows.find(|row| (row.0, row.1) == (*what, *batch)).copied()
    };
    for budget in budgets.iter().filter(|row| find(measured, row).is_none()) {
        let _ = writeln!(faults, "{} ×{}: it was not measured", budget.0, budget.1);
    }
    for row in measured {
        let (what, batch, figures) = row;
        let Some((_, _, budget)) = find(budgets, row) else {
            let _ = writeln!(faults, "{what} ×{batch}: it has no budget");
            continue;
        };
        for ((column, figure), budget) in columns.iter().zip(figures).zip(budget) {
            let verdict = if *figure > budget + ROUNDING {
                "it costs more than it may"
            } else if *figure < budget * KEPT - ROUNDING {
                "lower the budget, so that the gain is kept"
            } else {
                continue;
            };
            let _ = writeln!(
                faults,
                "{what} ×{batch}: {column} {figure:.4}, the budget is {budget}: {verdict}"
            );
        }
    }
    faults
}

/// Rows as they stand in the source.
fn table<const N: usize>(measured: &[Row<N>], slack: f64) -> String {
    let mut text = String::new();
    for (what, batch, figures) in measured {
        let figures = figures.map(|figure| format!("{:?}", rounded(figure * slack)));
        let _ = writeln!(text, "    ({what:?}, {batch}, [{}]),", figures.join(", "));
    }
    text
}

/// Three digits, upwards.
fn rounded(figure: f64) -> f64 {
    if figure <= 0.0 {
        return 0.0;
    }
    let digits = 2.0 - figure.log10().floor();
    // Both ways by a whole number, so that 0.01 stays 0.01.
    let unit = 10_f64.powf(digits.max(0.0));
    (figure * unit - ROUNDING).ceil() / unit
}

#[test]
fn a_figure_that_is_not_within_its_budget_is_told() {
    let told = |figure| {
        faults(
            ["calls"],
            &[("claim", 10, [1.5])],
            &[("claim", 10, [figure])],
        )
    };

    assert_eq!(told(1.5) + &told(1.0), "");
    assert!(told(1.6).starts_with("claim ×10: calls 1.6000, the budget is 1.5: it costs more"));
    assert!(told(0.9).contains("lower the budget"));
    assert!(faults(["calls"], &[], &[("claim", 10, [1.0])]).contains("no budget"));
    assert!(faults(["calls"], &[("claim", 10, [1.0])], &[]).contains("not measured"));
}

#[test]
fn a_printed_budget_is_never_below_what_was_measured() {
    let figures = [0.01, 0.143_2, 7.055, 157.01, 1_098.65, 12_345.6];

    let printed = format!("{:?}", figures.map(rounded));

    assert_eq!(printed, "[0.01, 0.144, 7.06, 158.0, 1099.0, 12346.0]");
}
