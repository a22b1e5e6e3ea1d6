//! Compares measured costs with their budgets. No cost may grow, and after an improvement the budget
//! must be lowered.

use std::fmt::Write;

/// The operation, the jobs per call, and the costs, one for each column.
pub(crate) type Row<const N: usize> = (&'static str, usize, [f64; N]);

/// A cost below this fraction of its budget requires a lower budget.
const LOWER_BELOW: f64 = 2.0 / 3.0;

/// Tolerance for rounding errors.
const ROUNDING: f64 = 1e-6;

/// Fails if a cost is above its budget, or so far below that the budget should be lowered. With
/// `WINDLASS_COST=print`, prints a new table with `slack` times the measured costs instead.
#[track_caller]
pub(crate) fn assert_within<const N: usize>(
    columns: [&str; N],
    budgets: &[Row<N>],
    measured: &[Row<N>],
    slack: f64,
) {
    let table = table(measured, slack);
    if std::env::var_os("WINDLASS_COST").is_some_and(|value| value == "print") {
        println!("\n{table}");
        return;
    }
    let violations = violations(columns, budgets, measured);
    assert!(
        violations.is_empty(),
        "{violations}the current costs, as a table:\n{table}"
    );
}

/// Returns a line for each cost outside its budget and for each row that is in one table only.
fn violations<const N: usize>(
    columns: [&str; N],
    budgets: &[Row<N>],
    measured: &[Row<N>],
) -> String {
    let mut lines = String::new();
    let find = |rows: &[Row<N>], (what, batch, _): &Row<N>| {
        let mut rows = rows.iter();
        rows.find(|row| (row.0, row.1) == (*what, *batch)).copied()
    };
    for budget in budgets.iter().filter(|row| find(measured, row).is_none()) {
        let _ = writeln!(lines, "{} ×{}: not measured", budget.0, budget.1);
    }
    for row in measured {
        let (what, batch, costs) = row;
        let Some((_, _, budget)) = find(budgets, row) else {
            let _ = writeln!(lines, "{what} ×{batch}: no budget");
            continue;
        };
        for ((column, cost), budget) in columns.iter().zip(costs).zip(budget) {
            let verdict = if *cost > budget + ROUNDING {
                "above the budget"
            } else if *cost < budget * LOWER_BELOW - ROUNDING {
                "lower the budget to keep the improvement"
            } else {
                continue;
            };
            let _ = writeln!(
                lines,
                "{what} ×{batch}: {column} {cost:.4}, budget {budget}: {verdict}"
            );
        }
    }
    lines
}

/// Formats rows as Rust source.
fn table<const N: usize>(measured: &[Row<N>], slack: f64) -> String {
    let mut text = String::new();
    for (what, batch, costs) in measured {
        let costs = costs.map(|cost| format!("{:?}", rounded(cost * slack)));
        let _ = writeln!(text, "    ({what:?}, {batch}, [{}]),", costs.join(", "));
    }
    text
}

/// Rounds up to three significant digits.
fn rounded(cost: f64) -> f64 {
    if cost <= 0.0 {
        return 0.0;
    }
    let digits = 2.0 - cost.log10().floor();
    // Multiplies and divides by the same integer, so that 0.01 stays 0.01.
    let unit = 10_f64.powf(digits.max(0.0));
    (cost * unit - ROUNDING).ceil() / unit
}

#[test]
fn a_cost_outside_its_budget_is_reported() {
    let report = |cost| violations(["calls"], &[("claim", 10, [1.5])], &[("claim", 10, [cost])]);

    assert_eq!(report(1.5) + &report(1.0), "");
    assert!(report(1.6).starts_with("claim ×10: calls 1.6000, budget 1.5: above the budget"));
    assert!(report(0.9).contains("lower the budget"));
    assert!(violations(["calls"], &[], &[("claim", 10, [1.0])]).contains("no budget"));
    assert!(violations(["calls"], &[("claim", 10, [1.0])], &[]).contains("not measured"));
}

#[test]
fn a_printed_budget_is_never_below_what_was_measured() {
    let costs = [0.01, 0.143_2, 7.055, 157.01, 1_098.65, 12_345.6];

    let printed = format!("{:?}", costs.map(rounded));

    assert_eq!(printed, "[0.01, 0.144, 7.06, 158.0, 1099.0, 12346.0]");
}
