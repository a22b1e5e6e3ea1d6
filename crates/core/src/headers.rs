//! Headers: metadata stored with a payload, such as content type or trace context.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};

/// The maximum total size of the header names and values of one job.
pub const HEADERS_BYTES_MAX: usize = 16 * 1024;

/// Header names and values. Names are case-insensitive and stored in lower case.
///
/// ```
/// # use windlass_core as windlass;
/// use windlass::store::Headers;
///
/// let mut headers = Headers::default();
/// headers.set("Tenant", "blue")?;
/// assert_eq!(headers.get("tenant"), Some("blue"));
/// assert!(headers.set("tenant", "a\nb").is_err());
/// # Ok::<(), windlass::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Option<Arc<BTreeMap<String, String>>>); // Shared by the jobs of a batch; `None` if empty.

impl Headers {
    /// Sets a header, replacing an earlier value of the same name.
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
        let headers = Arc::make_mut(self.0.get_or_insert_default());
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
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

    /// Returns the value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        let headers = self.0.as_ref()?;
        headers.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// Returns all headers, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let headers = self.0.iter().flat_map(|headers| headers.iter());
        headers.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the total size of names and values in bytes.
    pub fn bytes(&self) -> usize {
        self.iter()
            .map(|(name, value)| name.len() + value.len())
            .sum()
    }

    /// Returns whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
