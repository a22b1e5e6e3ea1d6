//! `docs/security.md` names tests that exist.

use std::path::Path;

/// Returns the rows of the table: the item, and the texts in backticks in the last column.
fn rows(page: &str) -> Vec<(&str, Vec<&str>)> {
    let rows = page.lines().filter(|line| line.starts_with("| S"));
    rows.map(|row| {
        let columns: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let (item, tests) = (columns[0].trim(), columns[columns.len() - 1]);
        (item, tests.split('`').skip(1).step_by(2).collect())
    })
    .collect()
}

#[test]
fn every_item_of_the_security_page_has_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = include_str!("../../../../docs/security.md");
    let rows = rows(page);
    let items: Vec<_> = rows.iter().map(|(item, _)| *item).collect();
    let wanted = (1..=10).chain(16..=18).map(|n| format!("S{n}"));
    assert_eq!(items, wanted.collect::<Vec<_>>());
    for (item, words) in rows {
        let mut text = None;
        let mut count = 0;
        for word in words {
            if word.starts_with("crates/") {
                let read = std::fs::read_to_string(root.join(word));
                text = Some(read.unwrap_or_else(|error| panic!("{item} {word}: {error}")));
                continue;
            }
            let text = text
                .as_ref()
                .unwrap_or_else(|| panic!("{item}: the file must come before its tests"));
            assert!(
                text.contains(&format!("fn {word}(")),
                "{item}: no test {word}"
            );
            count += 1;
        }
        assert!(count > 0, "{item} names no test");
    }
}
