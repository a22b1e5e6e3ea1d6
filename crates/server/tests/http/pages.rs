//! Pages for browsers: what they show to whom, signing in, forms and their protection.

use axum::body::Body;
use axum::http::Request;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use windlass_core::QueueName;
use windlass_server::client::Reply;

use crate::browser::{ACCEPT, Browser, text};
use crate::fixture::{Fixture, TestClient, problem, secret};

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

async fn with_tokens() -> Fixture {
    let fixture = Fixture::with_tokens(&[
        ("mail", "read", "mail-*"),
        ("all", "admin", "*"),
        ("adder", "enqueue", "*"),
        ("operator", "read,operate", "mail-*"),
    ])
    .await;
    let mut client = fixture.client().await;
    for queue in ["mail-1", "private"] {
        let path = format!("/v1/queues/{queue}/pause");
        assert_eq!(client.send_as("all", "POST", &path).await.status, 200);
    }
    fixture
}

async fn is_paused(fixture: &Fixture, queue: &str) -> bool {
    let queue = QueueName::new(queue).unwrap();
    fixture
        .store
        .stats(&queue)
        .await
        .unwrap()
        .unwrap()
        .is_paused
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
    assert!(text(&page).contains("<a href=\"/queues/mail\">mail</a>"));
    let reply = TestClient::json(&reply, 200);
    assert_eq!(
        (&reply["name"], &reply["docs"]),
        (&json!("windlass"), &json!("/docs"))
    );
}

#[tokio::test]
async fn pages_run_no_inline_code_and_load_only_files_of_this_server() {
    let fixture = Fixture::new().await;
    for path in ["/", "/docs", "/nothing"] {
        let page = browse(&fixture, "GET", path, None).await;
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        let text = text(&page);
        for bad in ["<style", " style=", " onclick=", "javascript:", "<script>"] {
            assert!(!text.contains(bad), "{path} has {bad}");
        }
        for address in text
            .split("src=\"")
            .chain(text.split("rel=\"stylesheet\" href=\""))
            .skip(1)
        {
            let address = address.split('"').next().unwrap();
            if address.starts_with("/assets/") {
                let asset = browse(&fixture, "GET", address, None).await;
                assert_eq!(asset.status, 200, "{address}");
                let cache = asset.headers["cache-control"].to_str().unwrap();
                assert!(cache.contains("immutable"), "{cache}");
            }
        }
    }
}

#[tokio::test]
async fn a_browser_without_a_token_learns_how_to_sign_in_and_nothing_else() {
    let fixture = with_tokens().await;
    for path in ["/", "/docs", "/metrics", "/v1/queues", "/nothing"] {
        let page = browse(&fixture, "GET", path, None).await;
        assert_eq!(page.status, 401, "{path}");
        let scheme = page.headers["www-authenticate"].to_str().unwrap();
        // Any other scheme would make the browser ask for a password by itself.
        assert!(scheme.starts_with("Bearer "), "{scheme}");
        let text = text(&page);
        assert!(text.contains("windlass token new"), "{text}");
        assert!(
            text.contains(&format!("name=\"to\" value=\"{path}\"")),
            "{text}"
        );
        for hidden in ["mail-1", "private", env!("CARGO_PKG_VERSION")] {
            assert!(!text.contains(hidden), "{path} shows {hidden}");
        }
    }
    let mut client = fixture.client().await;
    let reply = client.get("/").await;
    assert_eq!(problem(&reply), (401, "unauthorized".to_owned()));
}

#[tokio::test]
async fn a_browser_signs_in_with_its_token_and_sees_what_the_token_allows() {
    let fixture = with_tokens().await;
    let mut browser = Browser::new(&fixture).await;

    let signed_in = browser.sign_in("mail", "/?sort=ready").await;
    let page = browser.get("/").await;

    assert_eq!(signed_in.status, 303);
    assert_eq!(signed_in.headers["location"], "/?sort=ready");
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    let page = text(&page);
    assert!(
        page.contains("mail-1") && !page.contains("private"),
        "{page}"
    );
    assert!(
        !page.contains("/pause\"") && !page.contains("/resume\""),
        "{page}"
    );
    // Routes of the API can be read too, but not used to change something.
    assert_eq!(browser.get("/v1/queues").await.status, 200);
    browser.sign_in("operator", "/").await;
    let changed = browser.post("/v1/queues/mail-1/resume", "").await;
    assert_eq!(changed.status, 401);

    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("adder", "/").await;
    let page = browser.get("/").await;
    assert_eq!(page.status, 403);
    assert!(text(&page).contains("lacks the scope read"));
}

#[tokio::test]
async fn the_cookie_is_for_encrypted_connections_only_where_there_is_one() {
    let fixture = with_tokens().await;
    for (name, value, is_secure) in [
        ("x-forwarded-proto", "https", true),
        ("x-forwarded-proto", "http", false),
    ] {
        let mut browser = Browser::new(&fixture).await;
        browser.headers.push((name, value.to_owned()));
        let signed_in = browser.sign_in("mail", "/").await;
        let cookie = signed_in.headers["set-cookie"].to_str().unwrap();
        assert_eq!(cookie.contains("; Secure"), is_secure, "{cookie}");
    }
}

#[tokio::test]
async fn signing_in_leads_only_to_pages_of_this_server() {
    let fixture = with_tokens().await;
    for to in ["https://evil.example/", "//evil.example", "/\\evil", ""] {
        let mut browser = Browser::new(&fixture).await;
        let reply = browser.sign_in("mail", to).await;
        assert_eq!(reply.headers["location"], "/", "{to}");
    }
}

#[tokio::test]
async fn a_wrong_token_does_not_sign_in_and_guesses_are_counted() {
    let fixture = with_tokens().await;
    let mut browser = Browser::new(&fixture).await;
    let mut seen = Vec::new();
    for _ in 0..7 {
        let reply = browser.post("/sign-in", "token=guess&to=/").await;
        assert!(!reply.headers.contains_key("set-cookie"));
        assert!(text(&reply).contains("does not know that token"));
        seen.push(reply.status.as_u16());
    }
    assert_eq!(
        (seen.first(), seen.last()),
        (Some(&401), Some(&429)),
        "{seen:?}"
    );
    assert_eq!(browser.sign_in("mail", "/").await.status, 303);
}

#[tokio::test]
async fn signing_out_ends_the_session_everywhere() {
    let fixture = with_tokens().await;
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("mail", "/").await;
    let token = browser.form_token("/").await;
    let mut copy = Browser::new(&fixture).await;
    copy.cookie.clone_from(&browser.cookie);
    assert_eq!(copy.get("/").await.status, 200);

    assert_eq!(browser.post("/sign-out", "").await.status, 403);
    let reply = browser
        .post("/sign-out", &format!("form_token={token}"))
        .await;

    assert_eq!(reply.headers["location"], "/sign-in");
    assert!(
        reply.headers["set-cookie"]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    assert_eq!(copy.get("/").await.status, 401);
}

#[tokio::test]
async fn a_session_counts_only_for_requests_of_our_own_pages() {
    let fixture = with_tokens().await;
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("all", "/").await;
    let token = browser.form_token("/").await;
    for site in ["cross-site", "same-site"] {
        browser.headers = vec![
            ("sec-fetch-site", site.to_owned()),
            ("sec-fetch-mode", "navigate".to_owned()),
        ];
        let reply = browser.get("/").await;
        assert_eq!(reply.status, 401, "{site}");
        // Loaded by our own page, the address comes with the cookie.
        assert!(text(&reply).contains("http-equiv=\"refresh\" content=\"0\""));
        let form = format!("form_token={token}");
        let reply = browser.post("/queues/mail-1/resume", &form).await;
        assert!([401, 403].contains(&reply.status.as_u16()), "{site}");
    }
    assert!(is_paused(&fixture, "mail-1").await);
    browser.headers = vec![("sec-fetch-site", "same-origin".to_owned())];
    assert_eq!(browser.get("/").await.status, 200);
}

#[tokio::test]
async fn a_form_needs_the_token_of_its_session() {
    let fixture = with_tokens().await;
    let (mut ann, mut bob) = (Browser::new(&fixture).await, Browser::new(&fixture).await);
    ann.sign_in("operator", "/").await;
    bob.sign_in("operator", "/").await;
    let (mine, other) = (ann.form_token("/").await, bob.form_token("/").await);
    assert_ne!(mine, other);
    for form in [
        "",
        "form_token=",
        "form_token=x",
        &format!("form_token={other}"),
    ] {
        let reply = ann.post("/queues/mail-1/resume", form).await;
        assert_eq!(reply.status, 403, "{form}");
        assert!(text(&reply).contains("reload the page"));
    }
    assert!(is_paused(&fixture, "mail-1").await);

    let form = format!("form_token={mine}&back=%2F%3Fsort%3Dready");
    let reply = ann.post("/queues/mail-1/resume", &form).await;

    assert_eq!(reply.status, 303);
    assert_eq!(reply.headers["location"], "/?sort=ready&done=resume");
    assert!(!is_paused(&fixture, "mail-1").await);
    let page = text(&ann.get("/?sort=ready&done=resume").await);
    assert!(page.contains("The queue is resumed."), "{page}");
}

#[tokio::test]
async fn without_tokens_a_form_needs_the_token_of_the_server_and_leads_back_to_a_local_page() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/mail/jobs", json!({})).await;
    let mut browser = Browser::new(&fixture).await;
    assert_eq!(browser.post("/queues/mail/pause", "").await.status, 403);
    assert!(!is_paused(&fixture, "mail").await);

    let token = browser.form_token("/").await;
    let form = format!("form_token={token}&back=https%3A%2F%2Fevil");
    let reply = browser.post("/queues/mail/pause", &form).await;

    assert_eq!(reply.headers["location"], "/?done=pause");
    assert!(is_paused(&fixture, "mail").await);
    let reply = browser.get("/sign-in?to=/docs").await;
    assert_eq!(reply.headers["location"], "/docs");
}

#[tokio::test]
async fn buttons_are_absent_without_the_scope_and_the_server_refuses_anyway() {
    let fixture = with_tokens().await;
    for (token, may_operate) in [("mail", false), ("operator", true), ("all", true)] {
        let mut browser = Browser::new(&fixture).await;
        browser.sign_in(token, "/").await;
        let page = text(&browser.get("/").await);
        assert_eq!(
            page.contains("formaction=\"/queues/mail-1/resume\""),
            may_operate,
            "{token}"
        );
        let form = format!("form_token={}", browser.form_token("/").await);
        let reply = browser.post("/queues/mail-1/pause", &form).await;
        assert_eq!(reply.status == 303, may_operate, "{token}");
        // The queue pattern counts as well.
        let reply = browser.post("/queues/private/pause", &form).await;
        assert_eq!(reply.status == 303, token == "all", "{token}");
    }
}

#[tokio::test]
async fn a_password_is_accepted_for_reading_only_and_guesses_are_counted() {
    let fixture = with_tokens().await;
    for (method, path) in [
        ("POST", "/v1/queues/mail-1/resume"),
        ("PUT", "/v1/queues/mail-1/settings"),
        ("DELETE", "/v1/queues/mail-1/jobs/a"),
        ("POST", "/queues/mail-1/resume"),
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
