//! W3C Trace Context: the headers that carry a trace from the enqueue of a job to its attempts.

use std::collections::BTreeMap;
use std::fmt;

/// A position in a trace, as in the header `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: u128,
    /// The span in it.
    pub span_id: u64,
    /// Bit 0: the trace is recorded.
    pub flags: u8,
}

impl TraceParent {
    /// Parses the header. Returns `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| {
            let part = parts.next().filter(|part| part.len() == digits)?;
            let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let number = u128::from_str_radix(part, 16).ok();
            number.filter(|_| part.bytes().all(is_hex))
        };
        let version = number(2)?;
        let parent = Self {
            trace_id: number(32).filter(|id| *id != 0)?,
            span_id: number(16).filter(|id| *id != 0)?.try_into().ok()?,
            flags: number(2)?.try_into().ok()?,
        };
        // Later versions may have more parts.
        let is_valid = version != 0xff && (version > 0 || parts.next().is_none());
        is_valid.then_some(parent)
    }

    /// Returns whether the trace is recorded.
    pub const fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            trace_id,
            span_id,
            flags,
        } = self;
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
    }
}

/// The trace that a new job belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHeaders {
    /// The span that enqueues the job.
    pub parent: TraceParent,
    state: Option<String>,
}

impl TraceHeaders {
    /// Reads the headers `traceparent` and `tracestate`. A trace that is invalid is ignored, as the
    /// specification asks for.
    pub fn new(traceparent: Option<&str>, tracestate: Option<&str>) -> Option<Self> {
        /// The longest state that must be passed on.
        const STATE_BYTES_MAX: usize = 512;
        let is_valid =
            |state: &&str| state.len() <= STATE_BYTES_MAX && !state.chars().any(char::is_control);
        Some(Self {
            parent: TraceParent::parse(traceparent?)?,
            state: tracestate.filter(is_valid).map(str::to_owned),
        })
    }

    /// Returns the headers of this span, with the state of the trace it belongs to.
    pub fn of_span(parent: TraceParent, inherited: Option<Self>) -> Self {
        let state = inherited.and_then(|inherited| inherited.state);
        Self { parent, state }
    }

    /// Adds the headers to those of a job, unless it has a trace.
    pub fn add_to(&self, headers: &mut Option<BTreeMap<String, String>>) {
        let headers = headers.get_or_insert_default();
        let is_trace = |name: &String| name.eq_ignore_ascii_case("traceparent");
        if !headers.keys().any(is_trace) {
            headers.insert("traceparent".to_owned(), self.parent.to_string());
            if let Some(state) = &self.state {
                headers.insert("tracestate".to_owned(), state.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_and_written() {
        let parent = TraceParent::parse(VALID).unwrap();
        assert!(parent.is_sampled());
        assert_eq!(parent.to_string(), VALID);
        let later = VALID.replace("00-0a", "01-0a") + "-more";
        assert_eq!(TraceParent::parse(&later), Some(parent));
    }

    #[test]
    fn an_invalid_traceparent_is_ignored() {
        for text in [
            "",
            "00",
            &VALID.to_uppercase(),
            &VALID.replace("00-0a", "ff-0a"),
            &VALID[..54],
            &format!("{VALID}-more"),
            &VALID.replace("b7ad6b7169203331", "0000000000000000"),
            &VALID.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &VALID.replace("0af", "+af"),
        ] {
            assert_eq!(TraceHeaders::new(Some(text), None), None, "{text}");
        }
    }

    #[test]
    fn a_job_with_a_trace_keeps_it() {
        let trace = TraceHeaders::new(Some(VALID), Some("a=b")).unwrap();
        let mut headers = None;
        trace.add_to(&mut headers);
        assert_eq!(headers.unwrap()["tracestate"], "a=b");
        let own = BTreeMap::from([("Traceparent".to_owned(), "own".to_owned())]);
        let mut headers = Some(own.clone());
        trace.add_to(&mut headers);
        assert_eq!(headers, Some(own));
    }
}
