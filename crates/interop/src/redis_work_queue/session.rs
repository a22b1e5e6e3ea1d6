//! Generates unique ids for sessions and items.

use super::keys::WorkQueueLayout;
use crate::id;

/// Generates a session id in the format of the layout's clients.
pub(super) fn generate(layout: WorkQueueLayout) -> String {
    let id = uuid();
    match layout {
        // The format of the Python client, the most common one for this layout.
        WorkQueueLayout::V01 => id.replace('-', ""),
        WorkQueueLayout::V03 => id,
    }
}

/// Generates a random UUID (version 4) with dashes.
pub(super) fn uuid() -> String {
    id::uuid().expect("the system provides random bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_format_of_the_originals() {
        let id = uuid();
        let dashes: Vec<usize> = id.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!((id.len(), dashes), (36, vec![8, 13, 18, 23]));
        assert_eq!(&id[14..15], "4");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_eq!(generate(WorkQueueLayout::V01).len(), 32);
        assert_ne!(
            generate(WorkQueueLayout::V03),
            generate(WorkQueueLayout::V03)
        );
    }
}
