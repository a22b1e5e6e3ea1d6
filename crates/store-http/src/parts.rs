//! Lists that are too long for one request are sent in parts.

use windlass_core::{Error, ErrorKind};

/// The most bytes of an item besides its payload, result or error.
const ITEM_BYTES: usize = 1024;

/// Splits a list so that each part fits into one request. There is at least one part.
pub(crate) fn parts<T>(
    items: Vec<T>,
    bytes_max: usize,
    bytes: impl Fn(&T) -> usize,
) -> Vec<Vec<T>> {
    let (mut parts, mut size) = (vec![Vec::new()], 0);
    for item in items {
        let more = ITEM_BYTES + bytes(&item);
        if size > 0 && size + more > bytes_max {
            parts.push(Vec::new());
            size = 0;
        }
        size += more;
        if let Some(part) = parts.last_mut() {
            part.push(item);
        }
    }
    parts
}

/// The bytes of a payload or result in a request: at most its base64.
pub(crate) const fn encoded(bytes: usize) -> usize {
    bytes / 3 * 4 + 4
}

/// Makes the error of a later part of a call one with an unknown outcome: earlier parts were executed.
pub(crate) fn after(done: usize, error: Error) -> Error {
    if done == 0 || error.is_unknown() {
        return error;
    }
    let what = format!("the first {done} items were executed, then: {error}");
    let help = error.help().to_owned();
    Error::new(ErrorKind::OutcomeUnknown, what, help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_where_a_part_is_full() {
        let sizes = |items: Vec<usize>| {
            let parts = parts(items, 3 * ITEM_BYTES, |bytes| *bytes);
            parts.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(vec![]), [0]);
        assert_eq!(sizes(vec![0; 7]), [3, 3, 1]);
        assert_eq!(sizes(vec![0, 10 * ITEM_BYTES, 0]), [1, 1, 1]);
    }

    #[test]
    fn an_error_after_a_part_was_executed_is_an_unknown_outcome() {
        let busy = || Error::new(ErrorKind::StoreBusy, "busy", "wait");
        assert_eq!(after(0, busy()).kind(), ErrorKind::StoreBusy);
        assert!(after(3, busy()).is_unknown());
    }
}
