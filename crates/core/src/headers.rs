//! Small facts that travel with a job beside its payload: content type, trace context.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// The most bytes all names and values of one job's headers may have together.
pub const HEADERS_BYTES_MAX: usize = 16 * 1024;

/// Header names (lower case) and values; both checked on the way in.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::Headers;
///
/// let mut headers = Headers::default();
/// headers.set("Tenant", "blue")?;
/// assert_eq!(headers.get("tenant"), Some("blue"));
/// assert!(headers.set("tenant", "a\nb").is_err());
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// Sets one header, replacing an earlier value of the same name.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > 128 || !name.chars().all(is_name) {
            return Err(Error::invalid(
                "header name",
                format!("{:?}", name.chars().take(40).collect::<String>()),
                "use up to 128 letters, digits, hyphens, underscores and dots",
            ));
        }
        if value.chars().any(char::is_control) {
            return Err(Error::invalid(
                "header value",
                format!("{name:?} contains a control character"),
                "encode the value, for example as base64",
            ));
        }
        self.0.insert(name.to_ascii_lowercase(), value.to_owned());
        let bytes = self.bytes();
        if bytes > HEADERS_BYTES_MAX {
            return Err(Error::invalid(
                "headers",
                format!("{bytes} bytes is too large; maximum {HEADERS_BYTES_MAX}"),
                "move large values into the payload",
            ));
        }
        Ok(())
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// All headers in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Bytes of all names and values.
    pub fn bytes(&self) -> usize {
        self.iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
