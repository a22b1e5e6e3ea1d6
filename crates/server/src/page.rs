//! Pages for people, without scripts: the front page, the reference of the API, and what a browser
//! without a token sees.

mod docs;
mod example;
mod home;

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::handlers::text;

pub(crate) use docs::handle as docs;
pub(crate) use home::{HomeReply, handle as home};

/// The style sheet of all pages. Their content security policy allows only this one, by its digest.
const STYLE: &str = include_str!("page/style.css");

/// Returns whether a browser asks for a page, rather than a program for JSON.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    accepted.any(|value| value.contains("text/html"))
}

/// Returns what a browser sees that sent no valid token: how to sign in, and nothing of the store. The
/// header makes it ask for a user name and a password.
pub(crate) fn sign_in() -> Response<Body> {
    let body = "<main class=\"narrow\">\n<h1>Windlass</h1>\n\
        <p>This server needs a token. Reload the page and enter it as the <strong>password</strong>; the user name can be anything.</p>\n\
        <p>Programs send it as <code>authorization: Bearer TOKEN</code>.</p>\n\
        <p>No token yet? Ask the operator of this server to run <code>windlass token new NAME --scope read</code>.</p>\n</main>\n";
    let mut response = page("Windlass: sign in", "", body);
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let scheme = HeaderValue::from_static("Basic realm=\"windlass\", charset=\"UTF-8\"");
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Returns a page with elements for its head and its body.
fn page(title: &str, head: &str, body: &str) -> Response<Body> {
    respond(html(title, head, body))
}

fn html(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">{head}\
        <title>{title}</title><style>{STYLE}</style></head><body>\n{body}</body></html>\n"
    )
}

/// Returns the text of a page with the policy that allows its style sheet.
fn respond(html: impl Into<Body>) -> Response<Body> {
    static POLICY: LazyLock<Option<HeaderValue>> =
        LazyLock::new(|| HeaderValue::from_str(&policy()).ok());
    let mut response = text("text/html; charset=utf-8", html);
    // Without this policy the page gets the common one, which blocks the style sheet.
    if let Some(policy) = POLICY.clone() {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn policy() -> String {
    let digest = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
}

/// Escapes text for HTML, in elements and in quoted attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Panics if a page has a script, or a style other than its style sheet.
#[cfg(test)]
fn assert_plain(page: &str) {
    for word in ["<script", "javascript:", " style=", " on", "src=", "<link"] {
        let tags = page.split('<').filter_map(|part| part.split('>').next());
        let mut tags = tags.map(|tag| format!("<{tag}"));
        assert!(!tags.any(|tag| tag.contains(word)), "{word}");
    }
    assert_eq!(page.matches("<style>").count(), 1);
    assert!(page.contains(&format!("<style>{STYLE}</style>")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_allows_one_style_sheet_and_nothing_else() {
        assert!(policy().contains("default-src 'none'; style-src 'sha256-"));
        assert!(!policy().contains("unsafe"));
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    #[test]
    fn only_browsers_get_pages() {
        for (accept, is_page) in [
            ("text/html,application/xhtml+xml,*/*;q=0.8", true),
            ("*/*", false),
            ("application/json", false),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_str(accept).unwrap())]);
            assert_eq!(is_browser(&headers), is_page, "{accept}");
        }
        assert!(!is_browser(&HeaderMap::new()));
    }

    #[test]
    fn text_in_a_page_cannot_become_an_element_or_leave_an_attribute() {
        assert_eq!(escape("<a b='\"&'>"), "&lt;a b=&#39;&quot;&amp;&#39;&gt;");
    }
}
