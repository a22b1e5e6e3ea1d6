//! The terms of a statement that do not bound its index, which a query plan does not show.

use super::GROWING;

/// Ends of the steps that find one row, or the rows of one claim. Further terms cost nothing there.
const LOOKUPS: [&str; 7] = [
    "(rowid=?)",
    "INDEX job_id (queue=? AND id=?)",
    "INDEX sqlite_autoindex_schedule_1 (queue=? AND name=?)",
    "PRIMARY KEY (queue=? AND id=?)",
    "PRIMARY KEY (queue=? AND name=?)",
    "PRIMARY KEY (queue=? AND number=?)",
    "PRIMARY KEY (queue=? AND owner=?)",
];

/// The comparisons with a parameter that do not bound the index of a growing table. SQLite reads every row
/// within the other bounds to evaluate them, and the plan does not show it.
pub(super) fn unbounded_terms(sql: &str, steps: &[String]) -> Vec<String> {
    let grows = |step: &String| GROWING.contains(&step.split(' ').nth(1).unwrap_or_default());
    let is_lookup = |step: &String| LOOKUPS.iter().any(|end| step.ends_with(end));
    if !steps.iter().any(grows) || steps.iter().any(is_lookup) {
        return Vec::new();
    }
    let is_unbounded = |term: &String| {
        let column = term.split(['=', '<', '>']).next().unwrap_or_default();
        let column = column.rsplit('.').next().unwrap_or_default();
        let bounds = ["=", "<", ">"].map(|sign| format!("{column}{sign}"));
        let is_bound = |step: &String| {
            let (_, terms) = step.split_once('(').unwrap_or_default();
            let mut terms = terms.split(" AND ");
            terms.any(|term| bounds.iter().any(|bound| term.starts_with(bound.as_str())))
        };
        term.contains('?') && !steps.iter().any(is_bound)
    };
    terms(sql).into_iter().filter(is_unbounded).collect()
}

/// The terms of a statement's own WHERE, without spaces. Those of subqueries are left out.
fn terms(sql: &str) -> Vec<String> {
    let (mut terms, mut depth, mut is_where) = (Vec::<String>::new(), 0, false);
    for word in sql.split_whitespace() {
        match word {
            "WHERE" if depth == 0 => {
                is_where = true;
                terms.push(String::new());
            }
            "AND" if depth == 0 && is_where => terms.push(String::new()),
            "ORDER" | "LIMIT" | "RETURNING" if depth == 0 => is_where = false,
            _ => {
                if let Some(term) = terms.last_mut().filter(|_| is_where) {
                    term.push_str(word);
                }
            }
        }
        depth += word.matches('(').count();
        depth = depth.saturating_sub(word.matches(')').count());
    }
    terms
}
