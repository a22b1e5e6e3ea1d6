//! The files that pages load: one style sheet, one script and one icon, all of our own.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use sha2::{Digest, Sha256};

use crate::handlers::text;

const STYLE: &str = include_str!("../../assets/windlass.css");
const SCRIPT: &str = include_str!("../../assets/windlass.js");
const ICON: &str = include_str!("../../assets/icon.svg");

/// Browsers keep a file for good: its address has the digest of its content.
const CACHE: &str = "public, max-age=31536000, immutable";

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asset {
    Style,
    Script,
    Icon,
}

impl Asset {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Style => "/assets/windlass.css",
            Self::Script => "/assets/windlass.js",
            Self::Icon => "/assets/icon.svg",
        }
    }

    const fn content(self) -> (&'static str, &'static str) {
        match self {
            Self::Style => ("text/css; charset=utf-8", STYLE),
            Self::Script => ("text/javascript; charset=utf-8", SCRIPT),
            Self::Icon => ("image/svg+xml", ICON),
        }
    }

    pub(crate) fn response(self) -> Response<Body> {
        let (media_type, content) = self.content();
        let mut response = text(media_type, content);
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
        response
    }
}

/// The addresses of the files of this version.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) style: String,
    pub(super) script: String,
    pub(super) icon: String,
}

/// Returns the addresses of the files of this version.
pub(super) fn addresses() -> &'static Addresses {
    static ALL: LazyLock<Addresses> = LazyLock::new(|| {
        let address = |asset: Asset| {
            let digest: [u8; 32] = Sha256::digest(asset.content().1).into();
            let short: String = digest[..6]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("{}?v={short}", asset.path())
        };
        Addresses {
            style: address(Asset::Style),
            script: address(Asset::Script),
            icon: address(Asset::Icon),
        }
    });
    &ALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_load_nothing_from_elsewhere_and_run_no_text_as_code() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        for word in [
            "eval(",
            "Function(",
            "import ",
            "import(",
            "http:",
            "https:",
            "document.write",
        ] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        assert!(!ICON.contains("<script"));
    }
}
