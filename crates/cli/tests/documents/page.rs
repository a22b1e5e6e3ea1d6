//! Parses a page: its code blocks, and the commands in `console` blocks with their output.

/// A fenced code block.
pub(crate) struct Block<'a> {
    /// The language after the opening fence; empty if not set.
    pub(crate) language: &'a str,
    pub(crate) text: String,
}

/// A command, and the output that the page shows for it.
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) shown: String,
}

/// The blocks of a page, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut is_open = false;
    for line in page.split_inclusive('\n') {
        if let Some(language) = line.trim().strip_prefix("```") {
            if !is_open {
                let text = String::new();
                blocks.push(Block { language, text });
            }
            is_open = !is_open;
        } else if is_open {
            blocks.last_mut().unwrap().text += line;
        }
    }
    assert!(!is_open, "the last block is not closed");
    blocks
}

/// The blocks of one language.
pub(crate) fn texts(page: &str, language: &str) -> Vec<String> {
    let blocks = blocks(page).into_iter();
    let texts = blocks.filter(|block| block.language == language);
    texts.map(|block| block.text).collect()
}

/// The commands of all `console` blocks of a page, in order.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in texts(page, "console").concat().split_inclusive('\n') {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.trim_end().to_owned(),
                shown: String::new(),
            });
        } else {
            steps.last_mut().unwrap().shown += line;
        }
    }
    assert!(!steps.is_empty(), "the page has no commands");
    steps
}
