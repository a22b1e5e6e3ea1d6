//! What the documents show is what happens.

use super::script;

#[tokio::test]
async fn the_conversations_of_the_page_on_stdio_are_true() {
    let page = include_str!("../../../../docs/stdio.md");
    let conversations = script::of_document(page);
    assert!(conversations.len() >= 3, "{}", conversations.len());
    for conversation in conversations {
        script::stdio(&conversation).await;
    }
}

#[test]
fn the_page_on_stdio_names_every_verb() {
    let page = include_str!("../../../../docs/stdio.md");
    for op in windlass_api::ops() {
        assert!(page.contains(&format!("| `{op}` |")), "{op}");
    }
}

#[tokio::test]
async fn the_conversations_of_the_page_on_the_processor_are_true() {
    let page = include_str!("../../../../docs/processor.md");
    let conversations = script::of_document(page);
    assert!(conversations.len() >= 3, "{}", conversations.len());
    for conversation in conversations {
        script::processor(&conversation).await;
    }
}
