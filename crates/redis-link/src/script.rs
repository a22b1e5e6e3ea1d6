//! A Lua script, and the header of its text: lines `-- field: …` at the start.

/// The reply of a script that wrote nothing, because another script must run instead.
pub const REFUSED: &[u8] = b"full";

/// A script, ready to be sent.
#[derive(Debug)]
pub struct Script {
    pub(crate) source: String,
    pub(crate) sha: String,
}

impl Script {
    /// A script with these flags in its shebang, as in `no-writes,allow-stale`.
    pub fn new(flags: &str, text: &str) -> Self {
        let shebang = match flags {
            "" => "#!lua\n".to_owned(),
            flags => format!("#!lua flags={flags}\n"),
        };
        let source = shebang + text;
        let sha = redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha }
    }

    /// The text sent to Redis.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The SHA-1 of the text, in hexadecimal digits.
    pub fn sha(&self) -> &str {
        &self.sha
    }
}

/// The value of a field in the header of a script.
pub fn header<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let lines = text.lines().map_while(|line| line.strip_prefix("-- "));
    let mut values = lines.filter_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    values.next().map(str::trim)
}
