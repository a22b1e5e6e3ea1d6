//! Pages for browsers: what they show to whom, and how a browser signs in.

use axum::body::Body;
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use windlass_server::client::Reply;

use crate::fixture::{Fixture, TestClient, problem, secret};

/// What a browser sends with a page that its user opens.
const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Sends a request as a browser whose user entered this password.
async fn browse(fixture: &Fixture, method: &str, path: &str, password: Option<&str>) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("accept", ACCEPT);
    if let Some(password) = password {
        let login = STANDARD.encode(format!("anyone:{password}"));
        request = request.header("authorization", format!("Basic {login}"));
    }
    let mut client = fixture.client().await;
    client
        .0
        .send(request.body(Body::empty()).unwrap())
        .await
        .unwrap()
}

fn text(reply: &Reply) -> String {
    String::from_utf8(reply.body.to_vec()).unwrap()
}

async fn with_tokens() -> Fixture {
    let fixture = Fixture::with_tokens(&[
        ("mail", "read", "mail-*"),
        ("all", "admin", "*"),
        ("adder", "enqueue", "*"),
    ])
    .await;
    let mut client = fixture.client().await;
    for queue in ["mail-1", "private"] {
        let path = format!("/v1/queues/{queue}/pause");
        assert_eq!(client.send_as("all", "POST", &path).await.status, 200);
    }
    fixture
}

#[tokio::test]
async fn the_front_page_is_html_for_browsers_and_json_for_programs() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/mail/jobs", json!({})).await;

    let page = browse(&fixture, "GET", "/", None).await;
    let reply = client.get("/").await;

    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert!(text(&page).contains("<a href=\"/v1/queues/mail/jobs\">mail</a>"));
    let reply = TestClient::json(&reply, 200);
    assert_eq!(
        (&reply["name"], &reply["docs"]),
        (&json!("windlass"), &json!("/docs"))
    );
}

#[tokio::test]
async fn a_browser_without_a_token_learns_how_to_sign_in_and_nothing_else() {
    let fixture = with_tokens().await;
    for path in ["/", "/docs", "/metrics", "/v1/queues", "/nothing"] {
        let page = browse(&fixture, "GET", path, None).await;
        assert_eq!(page.status, 401, "{path}");
        let scheme = page.headers["www-authenticate"].to_str().unwrap();
        assert!(scheme.starts_with("Basic "), "{scheme}");
        let text = text(&page);
        assert!(text.contains("windlass token new"), "{text}");
        for hidden in ["mail-1", "private", env!("CARGO_PKG_VERSION"), "/v1/"] {
            assert!(!text.contains(hidden), "{path} shows {hidden}");
        }
    }
    let mut client = fixture.client().await;
    let reply = client.get("/").await;
    assert_eq!(problem(&reply), (401, "unauthorized".to_owned()));
    let scheme = reply.headers["www-authenticate"].to_str().unwrap();
    assert!(scheme.starts_with("Bearer "), "{scheme}");
}

#[tokio::test]
async fn a_browser_signs_in_with_its_token_and_sees_what_the_token_allows() {
    let fixture = with_tokens().await;

    let page = browse(&fixture, "GET", "/", Some(&secret("mail"))).await;
    let no_read = browse(&fixture, "GET", "/", Some(&secret("adder"))).await;

    assert_eq!((page.status.as_u16(), no_read.status.as_u16()), (200, 200));
    let (page, no_read) = (text(&page), text(&no_read));
    assert!(
        page.contains("mail-1") && !page.contains("private"),
        "{page}"
    );
    assert!(
        !no_read.contains("mail-1") && !no_read.contains("private"),
        "{no_read}"
    );
}

#[tokio::test]
async fn a_password_is_accepted_for_reading_only_and_guesses_are_counted() {
    let fixture = with_tokens().await;
    for (method, path) in [
        ("POST", "/v1/queues/mail-1/resume"),
        ("PUT", "/v1/queues/mail-1/settings"),
        ("DELETE", "/v1/queues/mail-1/jobs/a"),
    ] {
        let reply = browse(&fixture, method, path, Some(&secret("all"))).await;
        assert_eq!(reply.status, 401, "{method} {path}");
    }
    let mut seen = Vec::new();
    for _ in 0..7 {
        seen.push(
            browse(&fixture, "GET", "/", Some("guess"))
                .await
                .status
                .as_u16(),
        );
    }
    assert_eq!(
        (seen.first(), seen.last()),
        (Some(&401), Some(&429)),
        "{seen:?}"
    );
}
