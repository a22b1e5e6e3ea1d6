//! Ids that nobody draws twice: of sessions and of items.

use super::keys::Layout;

/// A session id as the clients of a layout draw it.
pub(super) fn draw(layout: Layout) -> String {
    let id = uuid();
    match layout {
        // The client of Python, which most users of this layout have.
        Layout::V01 => id.replace('-', ""),
        Layout::V03 => id,
    }
}

/// A random UUID (version 4) with dashes.
pub(super) fn uuid() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &number[part]);
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_look_as_the_originals_draw_them() {
        let id = uuid();
        let dashes: Vec<usize> = id.match_indices('-').map(|(at, _)| at).collect();
        assert_eq!((id.len(), dashes), (36, vec![8, 13, 18, 23]));
        assert_eq!(&id[14..15], "4");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"));
        assert_eq!(draw(Layout::V01).len(), 32);
        assert_ne!(draw(Layout::V03), draw(Layout::V03));
    }
}
