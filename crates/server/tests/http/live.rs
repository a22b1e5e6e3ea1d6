//! Live pages: fragments are sent when they change, for as long as the session lasts.

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use axum::body::Body;

use crate::browser::Browser;
use crate::fixture::{Fixture, LONG};

/// The events of a page that a browser watches.
struct Events {
    chunks: axum::body::BodyDataStream,
    text: String,
    // The connection.
    _client: windlass_server::HttpClient,
}

impl Events {
    async fn open(fixture: &Fixture, browser: &Browser, path: &str) -> Self {
        let request = browser
            .request("GET", path)
            .header("accept", "text/event-stream");
        let mut client = fixture.client().await.0;
        let request = request.body(Body::empty()).unwrap();
        let response = client.send_streaming(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            chunks: Body::new(response.into_body()).into_data_stream(),
            text: String::new(),
            _client: client,
        }
    }

    /// Returns the next event, or `None` at the end of the stream.
    async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let mut lines = event.lines();
                let name = lines.next().and_then(|line| line.strip_prefix("event: "));
                let data = lines.next().and_then(|line| line.strip_prefix("data: "));
                if let (Some(name), Some(data)) = (name, data) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            let chunk = timeout(LONG, self.chunks.next()).await.expect("an event")?;
            self.text
                .push_str(std::str::from_utf8(&chunk.ok()?).unwrap());
        }
    }

    /// Waits for a fragment with this id and text.
    async fn wait_for(&mut self, id: &str, text: &str) {
        loop {
            let (_, data) = self.next().await.expect("the stream goes on");
            if data["id"] == id && data["html"].as_str().unwrap().contains(text) {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_watched_page_gets_its_fragments_and_then_what_changes() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    client.post("/v1/queues/mail/jobs", json!({})).await;
    let browser = Browser::new(&fixture).await;
    let mut events = Events::open(&fixture, &browser, "/").await;
    let mut second = Events::open(&fixture, &browser, "/").await;
    events.wait_for("queues", ">mail</a>").await;

    client.post("/v1/queues/fax/jobs", json!({})).await;

    events.wait_for("queues", ">fax</a>").await;
    second.wait_for("queues", ">fax</a>").await;
}

#[tokio::test]
async fn what_is_sent_has_no_form_token_and_only_queues_of_the_token() {
    let fixture =
        Fixture::with_tokens(&[("mail", "read,operate", "mail*"), ("all", "admin", "*")]).await;
    let mut client = fixture.client().await;
    for queue in ["mail", "private"] {
        client
            .send_as("all", "POST", &format!("/v1/queues/{queue}/pause"))
            .await;
    }
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("mail", "/").await;
    let token = browser.form_token("/").await;
    let mut events = Events::open(&fixture, &browser, "/").await;
    loop {
        let (_, data) = events.next().await.unwrap();
        let html = data["html"].as_str().unwrap();
        assert!(
            !html.contains(&token) && !html.contains("private"),
            "{html}"
        );
        if data["id"] == "queues" {
            assert!(html.contains(">mail</a>"), "{html}");
            return;
        }
    }
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let fixture = Fixture::with_tokens(&[("all", "admin", "*")]).await;
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("all", "/").await;
    let token = browser.form_token("/").await;
    let mut events = Events::open(&fixture, &browser, "/").await;
    events.wait_for("queues", "no queue yet").await;

    browser
        .post("/sign-out", &format!("form_token={token}"))
        .await;
    // The stream notices with the next change.
    let mut client = fixture.client().await;
    client.send_as("all", "POST", "/v1/queues/mail/pause").await;

    let mut last = None;
    while let Some((name, _)) = events.next().await {
        last = Some(name);
    }
    assert_eq!(last.as_deref(), Some("signed_out"));
}
