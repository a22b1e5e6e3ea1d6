//! The address of a server, and the token to send.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hyper::Uri;
use hyper::header::HeaderValue;
use windlass_core::{Error, ErrorKind, Result};

/// The environment variable with the token, as for the server itself.
pub const TOKEN_VARIABLE: &str = "WINDLASS_HTTP_TOKEN";

/// The longest token file.
const TOKEN_BYTES_MAX: u64 = 4096;

/// The address of a server: `http://HOST:PORT` or `https://HOST:PORT`, with options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAddress {
    /// Whether to use TLS.
    pub is_tls: bool,
    /// The host name or IP address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// `ca=FILE`: trust only the authorities in this file.
    pub ca: Option<PathBuf>,
    /// `token_file=FILE`: read the token from this file instead of the environment.
    pub token_file: Option<PathBuf>,
    /// `insecure=true`: send the token without TLS to another machine.
    pub is_insecure: bool,
}

impl FromStr for HttpAddress {
    type Err = Error;

    /// Parses a URL. Errors never contain the text, which may contain a misplaced secret.
    fn from_str(text: &str) -> Result<Self> {
        let form = "write http://HOST:PORT or https://HOST:PORT, with the options token_file=FILE, \
                    ca=FILE and insecure=true after a ?";
        let bad = |why: &str| Error::invalid("store URL", why, form);
        let (base, options) = text.split_once('?').unwrap_or((text, ""));
        let uri: Uri = base
            .parse()
            .map_err(|_| bad("it is not an address of a server"))?;
        let authority = uri.authority().ok_or_else(|| bad("the host is missing"))?;
        if authority.as_str().contains('@') {
            let help = "set the token in the environment as WINDLASS_HTTP_TOKEN, or in a file that \
                        ?token_file=FILE names: arguments are visible to other users";
            let why = "it must not contain a token or a password";
            return Err(Error::invalid("store URL", why, help));
        }
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(bad("its scheme is not http or https")),
        };
        if !matches!(uri.path(), "" | "/") {
            return Err(bad("it has a path"));
        }
        let port = if authority.as_str().ends_with(':') {
            return Err(bad("the port is missing after the colon"));
        } else {
            authority
                .port_u16()
                .unwrap_or(if is_tls { 443 } else { 80 })
        };
        let host = authority.host();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let mut address = Self {
            is_tls,
            host: host.to_owned(),
            port,
            ca: None,
            token_file: None,
            is_insecure: false,
        };
        // A name without a value could be a misplaced secret.
        let unknown = |name: &str, value: &str| match value {
            "" => bad("it has an unknown option"),
            _ => bad(&format!("unknown option {name:?}")),
        };
        for (name, value) in form_urlencoded::parse(options.as_bytes()) {
            match (name.as_ref(), value.as_ref()) {
                ("ca", path) if is_tls => address.ca = Some(PathBuf::from(path)),
                ("ca", _) => return Err(bad("the option ca needs https")),
                ("token_file", path) => address.token_file = Some(PathBuf::from(path)),
                ("insecure", "true") => address.is_insecure = true,
                ("insecure", _) => return Err(bad("the only value of insecure is true")),
                (name, value) => return Err(unknown(name, value)),
            }
        }
        Ok(address)
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

impl HttpAddress {
    /// Returns the host and the port, as in the header `Host`.
    pub(crate) fn authority(&self) -> String {
        if self.host.contains(':') {
            return format!("[{}]:{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }

    fn is_loopback(&self) -> bool {
        let address = self.host.parse::<IpAddr>();
        address.map_or(self.host == "localhost", |address| address.is_loopback())
    }

    /// Returns the token of the file or of the environment, if there is one.
    pub fn token(&self) -> Result<Option<BearerToken>> {
        if let Some(path) = &self.token_file {
            return read_token(path)
                .and_then(|text| BearerToken::new(&text))
                .map(Some);
        }
        match std::env::var(TOKEN_VARIABLE) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => BearerToken::new(&text).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => Err(bad_token()),
        }
    }

    /// Rejects a token that others could read on its way.
    pub(crate) fn check_token(&self, token: Option<&BearerToken>) -> Result<()> {
        if token.is_none() || self.is_tls || self.is_loopback() || self.is_insecure {
            return Ok(());
        }
        let why = format!(
            "the token would be sent to {} without encryption",
            self.host
        );
        let help = "use https:// (a proxy with TLS in front of the server), or a tunnel to 127.0.0.1; in a \
                    network that you trust, add ?insecure=true to the URL";
        Err(Error::new(ErrorKind::Invalid, why, help))
    }
}

/// A token. It is never printed.
#[derive(Clone)]
pub struct BearerToken(HeaderValue);

impl BearerToken {
    /// Checks the characters of a token.
    pub fn new(text: &str) -> Result<Self> {
        let value = HeaderValue::from_str(&format!("Bearer {}", text.trim()));
        let mut value = value.map_err(|_| bad_token())?;
        value.set_sensitive(true);
        Ok(Self(value))
    }

    /// Returns the value of the header `Authorization`.
    pub(crate) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

fn bad_token() -> Error {
    let help = "copy the whole token that `windlass token new` printed";
    Error::invalid(
        "token",
        "it contains characters that are not visible ASCII",
        help,
    )
}

fn read_token(path: &Path) -> Result<String> {
    let failed = |why: String| {
        let what = format!("cannot read the token file {}: {why}", path.display());
        let help =
            "name a file that has only the token, and that only you can read (chmod 600 FILE)";
        Error::new(ErrorKind::Invalid, what, help)
    };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = file.metadata().map_err(|error| failed(error.to_string()))?;
        if found.permissions().mode() & 0o077 != 0 {
            return Err(failed("other users may read or write it".to_owned()));
        }
    }
    let mut text = String::new();
    let read = file.take(TOKEN_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    if text.trim().is_empty() {
        return Err(failed("it is empty".to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_and_printed_without_options() {
        for (text, shown) in [
            ("http://127.0.0.1:7700", "http://127.0.0.1:7700"),
            ("http://localhost:7700/", "http://localhost:7700"),
            ("http://[::1]:7700", "http://[::1]:7700"),
            ("https://jobs.example", "https://jobs.example:443"),
            ("http://h?insecure=true&token_file=/a/b", "http://h:80"),
        ] {
            assert_eq!(text.parse::<HttpAddress>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn a_wrong_address_is_rejected_and_its_secrets_are_not_shown() {
        for bad in [
            "http://",
            "http://:hunter2@h:1",
            "http://hunter2@h",
            "ftp://h/hunter2",
            "http://h/hunter2",
            "http://h:99999?hunter2",
            "http://h:",
            "http://h?token=hunter2",
            "http://h?insecure=hunter2",
            "http://h?ca=hunter2",
            "hunter2",
        ] {
            let error = bad.parse::<HttpAddress>().unwrap_err();
            let shown = format!("{error} {} {error:?}", error.help());
            assert!(!shown.contains("hunter2"), "{bad}: {shown}");
        }
    }

    #[test]
    fn a_token_is_sent_without_tls_only_on_this_machine() {
        let token = BearerToken::new("secret").unwrap();
        let check = |url: &str, token| {
            url.parse::<HttpAddress>()
                .unwrap()
                .check_token(token)
                .is_ok()
        };
        for url in [
            "http://127.0.0.1:1",
            "http://localhost:1",
            "http://[::1]:1",
            "https://h",
        ] {
            assert!(check(url, Some(&token)), "{url}");
        }
        assert!(!check("http://10.0.0.1:7700", Some(&token)));
        assert!(!check("http://localhost.evil", Some(&token)));
        assert!(check("http://10.0.0.1:7700?insecure=true", Some(&token)));
        assert!(check("http://10.0.0.1:7700", None));
        assert_eq!(format!("{token:?}"), "***");
    }

    #[cfg(unix)]
    #[test]
    fn a_token_file_that_others_can_read_is_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "hunter2\n").unwrap();
        let url = format!("http://h?token_file={}", path.display());
        let address: HttpAddress = url.parse().unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        let error = address.token().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        mode(0o600);
        assert!(address.token().unwrap().is_some());
    }
}
