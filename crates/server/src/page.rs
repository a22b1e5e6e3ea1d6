//! `/docs`: the table of routes as a plain page, without a script.

use std::fmt::Write;

use axum::body::Body;
use axum::http::Response;

use crate::answer::text;
use crate::table::ROUTES;

/// The page.
pub(crate) fn answer() -> Response<Body> {
    text("text/html; charset=utf-8", page())
}

fn page() -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Windlass: HTTP</title></head><body>\n\
        <h1>Windlass over HTTP</h1>\n<p>Every route, and the scope that a token needs for it. \
        The shapes of requests and replies are in <a href=\"/openapi.json\">/openapi.json</a>.</p>\n\
        <table border=\"1\" cellpadding=\"4\">\n<tr><th>Method</th><th>Path</th><th>Scope</th><th>What it does</th></tr>\n",
    );
    for route in ROUTES {
        // Writing to a String cannot fail. All of it is from the table: nothing is anybody's input.
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            route.method.as_str(),
            route.path,
            route.scope.as_str(),
            route.summary
        );
    }
    page.push_str("</table>\n</body></html>\n");
    page
}
