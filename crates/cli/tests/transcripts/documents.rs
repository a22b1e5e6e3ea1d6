//! Replays the sessions that docs/stdio.md shows.

use windlass_testkit::transcript::of_document;

use super::script;

#[tokio::test]
async fn the_sessions_of_the_page_on_stdio_are_true() {
    let page = include_str!("../../../../docs/stdio.md");
    let sessions = of_document(page);
    assert!(sessions.len() >= 3, "{}", sessions.len());
    for session in sessions {
        script::stdio(&session).await;
    }
}

#[test]
fn the_page_on_stdio_names_every_operation() {
    let page = include_str!("../../../../docs/stdio.md");
    for op in windlass_api::Request::OPS {
        assert!(page.contains(&format!("| `{op}` |")), "{op}");
    }
}
