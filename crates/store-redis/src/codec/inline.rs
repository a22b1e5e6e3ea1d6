//! The stored value of a job: opts that matter to no script, an empty line, and the payload.
//!
//! Other opts are in the hash `opts`, which counts if the job is in it. A long value never has opts: scripts
//! read short values to see theirs.

use bytes::{BufMut, Bytes, BytesMut};

use super::names::{
    GROUP, HEADERS, INLINE_MAX, IS_JSON, KIND, NEEDS_CARE, PRIORITY, RETRY_POLICY, TIMEOUT,
};

/// The letters of opts that a value may have.
const SIMPLE: [char; 6] = [PRIORITY, KIND, RETRY_POLICY, TIMEOUT, HEADERS, IS_JSON];

/// Whether the opts of a new job are stored in its value.
fn is_inline(spec: &str, payload: &Bytes) -> bool {
    let is_simple = |line: &str| line.starts_with(SIMPLE);
    spec.is_empty() || (spec.lines().all(is_simple) && spec.len() + 1 + payload.len() <= INLINE_MAX)
}

/// The length of the line that has a job's place in the line of its group.
const PLACE_LINE: usize = 22;

/// Whether the value of a new job has all opts once it is ready: then, if the job has a group, the script adds
/// them to the value, with its place in the line.
pub(crate) fn is_inline_when_ready(spec: &str, payload: &Bytes) -> bool {
    let is_simple = |line: &str| line.starts_with(SIMPLE) || line.starts_with(GROUP);
    spec.lines().all(is_simple) && spec.len() + PLACE_LINE + 1 + payload.len() <= INLINE_MAX
}

/// Encodes the value of a new job.
pub(crate) fn encode(spec: &str, payload: &Bytes) -> Bytes {
    let header = if is_inline(spec, payload) { spec } else { "" };
    let mut value = BytesMut::with_capacity(header.len() + 1 + payload.len());
    value.put_slice(header.as_bytes());
    value.put_u8(b'\n');
    value.put_slice(payload);
    value.freeze()
}

/// Splits a value into its opts and the payload. A value without an empty line, which only a manual change
/// can cause, is all payload.
pub(crate) fn split(mut value: Bytes) -> (Bytes, Bytes) {
    let header = match value.first() {
        Some(&(b'\n' | NEEDS_CARE)) => 0,
        _ => match value.windows(2).position(|pair| pair == b"\n\n") {
            Some(last) => last + 1,
            None => return (Bytes::new(), value),
        },
    };
    let payload = value.split_off(header + 1);
    value.truncate(header);
    (value, payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(spec: &str, payload: &'static [u8]) -> (Bytes, Bytes) {
        split(encode(spec, &Bytes::from_static(payload)))
    }

    #[test]
    fn a_value_has_the_opts_that_matter_to_no_script() {
        let payload = Bytes::from_static(b"\n\n{}");
        assert_eq!(encode("", &payload), "\n\n\n{}");
        assert_eq!(encode("kmail\nj\n", &payload), "kmail\nj\n\n\n\n{}");
        for spec in ["", "kmail\n", "p3\nkmail\nr1,2,3,0\nt5\nha\tb\n"] {
            let (header, read) = round_trip(spec, b"\n\n{}");
            assert_eq!((header, read), (Bytes::from(spec), payload.clone()));
        }
        for spec in ["n\n", "kmail\nu1\n", "d+5\nkmail\n", "w\n"] {
            assert_eq!(round_trip(spec, b"x").0, "", "{spec:?}");
        }
    }

    #[test]
    fn a_long_value_has_no_opts() {
        let fits = Bytes::from(vec![b'x'; INLINE_MAX - 7]);
        let long = Bytes::from(vec![b'x'; INLINE_MAX - 6]);
        assert_eq!(encode("kmail\n", &fits).len(), INLINE_MAX);
        assert_eq!(encode("kmail\n", &long)[0], b'\n');
    }

    #[test]
    fn a_value_that_needs_care_has_no_opts() {
        let (header, payload) = split(Bytes::from_static(b"*abc"));
        assert_eq!((header, payload), (Bytes::new(), Bytes::from("abc")));
    }

    #[test]
    fn a_value_without_an_empty_line_is_all_payload() {
        for all in ["", "kmail", "kmail\n"] {
            assert_eq!(split(Bytes::from(all)), (Bytes::new(), Bytes::from(all)));
        }
    }
}
