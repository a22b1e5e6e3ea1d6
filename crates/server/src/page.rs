//! `/docs`: the table of routes as an HTML page without scripts.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use windlass_api::Route;

use crate::handlers::text;
use crate::state::AppState;
use crate::table::routes;

/// The style sheet. The content security policy of the page allows only this one, by its digest.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.4rem .8rem;border-bottom:1px solid #8884}\
th{border-bottom-width:2px}\
code{font:14px ui-monospace,monospace;overflow-wrap:anywhere}\
@media(min-width:64rem){td code{white-space:nowrap}}\
.method{font-weight:600}\
@media(max-width:48rem){\
thead{display:none}\
tr{display:block;padding:.6rem 0;border-bottom:1px solid #8884}\
td{display:inline;border:0;padding:0 .5rem 0 0}\
td:last-child{display:block}}";

/// Returns the page.
pub(crate) fn handle(state: &AppState) -> Response<Body> {
    static POLICY: LazyLock<Option<HeaderValue>> =
        LazyLock::new(|| HeaderValue::from_str(&policy()).ok());
    let build = || page(state.extra_route()).into();
    let page = state.page.get_or_init(build).clone();
    let mut response = text("text/html; charset=utf-8", page);
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

fn page(extra: Option<&'static Route>) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width\"><title>Windlass HTTP API</title>\
        <style>{STYLE}</style></head><body>\n\
        <h1>Windlass HTTP API</h1>\n<p>All routes, with the scope a token needs. \
        Request and response schemas are in <a href=\"/openapi.json\">/openapi.json</a>.</p>\n\
        <table>\n<thead><tr><th>Method</th><th>Path</th><th>Scope</th><th>Description</th></tr></thead>\n<tbody>\n",
    );
    for route in routes().map(|(_, route)| route).chain(extra) {
        // Writing to a String cannot fail. Nothing here is user input, so no escaping is needed.
        let _ = writeln!(
            page,
            "<tr><td class=\"method\">{}</td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            route.method.as_str(),
            route.path,
            route.scope.as_str(),
            route.summary
        );
    }
    page.push_str("</tbody></table>\n</body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_no_script_and_no_style_but_the_one_its_policy_names() {
        let page = page(None);
        for word in ["<script", "javascript:", " style=", " on", "src="] {
            let tags = page.split('<').filter_map(|part| part.split('>').next());
            let mut tags = tags.map(|tag| format!("<{tag}"));
            assert!(!tags.any(|tag| tag.contains(word)), "{word}");
        }
        assert_eq!(page.matches("<style>").count(), 1);
        assert!(page.contains(&format!("<style>{STYLE}</style>")));
        assert!(policy().contains("default-src 'none'; style-src 'sha256-"));
        assert!(!policy().contains("unsafe"));
    }
}
