//! Changes of many jobs in the dashboard, the page of errors, and the export of a filter.

use serde_json::{Value, json};

use crate::browser::{Browser, text};
use crate::fixture::{Fixture, TestClient};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A server with dead jobs of two errors in the queue `mail`.
async fn with_dead_jobs() -> (Fixture, TestClient) {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (id, error) in [
        ("a-1", "no route to host 10.0.0.1"),
        ("a-2", "no route to host 10.0.0.2"),
        ("b-1", "bad address"),
    ] {
        let job = json!({"id":id,"payload":{"to":id},"kind":"letter"});
        client.post("/v1/queues/mail/jobs", job).await;
        let claim = client.post("/v1/queues/mail/claim", json!({})).await;
        let token = parsed(&text(&claim))[0]["token"].clone();
        let path = format!("/v1/queues/mail/jobs/{id}/fail");
        let fail = json!({"token":token,"error":error,"permanent":true});
        assert_eq!(client.post(&path, fail).await.status, 200);
    }
    (fixture, client)
}

async fn state_of(client: &mut TestClient, id: &str) -> Value {
    let reply = client.get(&format!("/v1/queues/mail/jobs/{id}")).await;
    parsed(&text(&reply))["state"].clone()
}

/// Starts a change and waits until it has ended. Returns its page.
async fn change(browser: &mut Browser, address: &str, fields: &str) -> String {
    let token = browser.form_token("/").await;
    let form = format!("form_token={token}&back=/&{fields}");
    let reply = browser.post(address, &form).await;
    assert_eq!(reply.status, 303, "{}", text(&reply));
    let next = reply.headers["location"].to_str().unwrap().to_owned();
    loop {
        let page = text(&browser.get(&next).await);
        if !page.contains(">running</span>") {
            return page;
        }
    }
}

/// Returns the address of the jobs of an error on the page of errors.
async fn error_group(browser: &mut Browser, message: &str) -> String {
    let page = text(&browser.get("/errors").await);
    let row = page.split("<tr>").find(|row| row.contains(message));
    let row = row.unwrap_or_else(|| panic!("no {message}: {page}"));
    let after = row.split("error_group=").nth(1).unwrap();
    after.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn selected_jobs_are_changed_and_others_stay() {
    let (fixture, mut client) = with_dead_jobs().await;
    let mut browser = Browser::new(&fixture).await;
    let page = text(&browser.get("/queues/mail/jobs?state=dead").await);
    assert!(page.contains(r#"name="ids" value="a-1""#), "{page}");

    let address = "/queues/mail/bulk/retry?state=dead";
    let page = change(&mut browser, address, "ids=a-1&ids=b-1&ids=unknown").await;

    assert!(page.contains("<dt>retried</dt><dd>2</dd>"), "{page}");
    assert!(page.contains("<dt>gone</dt><dd>1</dd>"), "{page}");
    assert_eq!(state_of(&mut client, "a-1").await, "ready");
    assert_eq!(state_of(&mut client, "a-2").await, "dead");
}

#[tokio::test]
async fn all_jobs_that_match_are_changed_after_a_question() {
    let (fixture, mut client) = with_dead_jobs().await;
    let mut browser = Browser::new(&fixture).await;
    let address = "/queues/mail/bulk/delete?state=dead&text=a-";
    let question = text(&browser.get(address).await);
    assert!(question.contains("state dead, text a-"), "{question}");
    assert!(question.contains("Up to 3 jobs"), "{question}");
    assert_eq!(
        state_of(&mut client, "a-1").await,
        "dead",
        "it was only asked"
    );

    let page = change(&mut browser, address, "which=all").await;

    assert!(page.contains("<dt>deleted</dt><dd>2</dd>"), "{page}");
    assert_eq!(state_of(&mut client, "a-1").await, Value::Null);
    assert_eq!(state_of(&mut client, "b-1").await, "dead");
    let log = text(&browser.get("/actions").await);
    assert!(log.contains("<code>delete</code>"), "{log}");
}

#[tokio::test]
async fn a_group_of_errors_is_retried_as_a_whole() {
    let (fixture, mut client) = with_dead_jobs().await;
    let mut browser = Browser::new(&fixture).await;
    let group = error_group(&mut browser, "no route to host #").await;

    let address = format!("/queues/mail/bulk/retry?state=dead&error_group={group}");
    change(&mut browser, &address, "which=all").await;

    assert_eq!(state_of(&mut client, "a-1").await, "ready");
    assert_eq!(state_of(&mut client, "a-2").await, "ready");
    assert_eq!(state_of(&mut client, "b-1").await, "dead");
}

#[tokio::test]
async fn a_group_of_errors_can_be_cleared() {
    let (fixture, _) = with_dead_jobs().await;
    let mut browser = Browser::new(&fixture).await;
    let group = error_group(&mut browser, "bad address").await;
    let token = browser.form_token("/errors").await;

    let form = format!("form_token={token}&back=/errors");
    let address = format!("/queues/mail/errors/{group}/clear");
    assert_eq!(browser.post(&address, &form).await.status, 303);

    let page = text(&browser.get("/errors").await);
    assert!(!page.contains("bad address"), "{page}");
    assert!(page.contains("no route to host #"), "{page}");
}

#[tokio::test]
async fn a_change_without_jobs_or_of_an_unknown_kind_is_refused() {
    let (fixture, _) = with_dead_jobs().await;
    let mut browser = Browser::new(&fixture).await;
    let token = browser.form_token("/").await;
    for (address, status) in [
        ("/queues/mail/bulk/retry", 400),
        ("/queues/mail/bulk/explode", 404),
        ("/queues/mail/bulk/retry/none/stop", 404),
    ] {
        let reply = browser.post(address, &format!("form_token={token}")).await;
        assert_eq!(reply.status, status, "{address}");
        let forged = browser.post(address, "ids=a-1").await;
        assert_eq!(
            forged.status, 403,
            "{address} without the token of the form"
        );
    }
    assert_eq!(
        browser.get("/queues/mail/bulk/retry/none").await.status,
        404
    );
    assert_eq!(
        browser
            .get("/queues/mail/bulk/retry?min_attempt=x")
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn a_token_for_some_queues_sees_errors_of_those_only() {
    let fixture = Fixture::with_tokens(&[("mail", "read", "mail"), ("all", "admin", "*")]).await;
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("mail", "/").await;
    let page = text(&browser.get("/errors").await);
    assert!(page.contains("No attempt has failed"), "{page}");
    let other = browser.get("/queues/private/bulk/retry").await;
    assert_eq!(other.status, 403);
}

#[tokio::test]
async fn an_export_has_the_jobs_of_its_filter() {
    let (_fixture, mut client) = with_dead_jobs().await;
    for (query, ids) in [
        ("", vec!["a-1", "a-2", "b-1"]),
        ("?text=a-", vec!["a-1", "a-2"]),
        ("?state=dead,ready&text=b-", vec!["b-1"]),
        ("?state=ready", vec![]),
    ] {
        let reply = client
            .get(&format!("/v1/queues/mail/jobs/export{query}"))
            .await;
        let lines = text(&reply);
        let lines = lines.lines().map(parsed);
        let mut found: Vec<_> = lines
            .map(|job| job["id"].as_str().unwrap().to_owned())
            .collect();
        found.sort();
        assert_eq!(found, ids, "{query}");
    }
}
