//! Permissions: every route × every scope × no token, and the queues a token allows.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_server::{Scope, Tokens, api_routes, routes};

use crate::fixture::{Fixture, LONG, TestClient, problem, secret, sha256};

/// One token per scope, named like the scope.
fn tokens() -> Vec<(&'static str, &'static str, &'static str)> {
    let each = Scope::GRANTED.iter();
    each.map(|scope| (scope.as_str(), scope.as_str(), "*"))
        .collect()
}

async fn status(client: &mut TestClient, method: &str, path: &str, token: Option<&str>) -> u16 {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {}", secret(token)));
    }
    let request = request.body(Body::empty()).unwrap();
    // An event stream never ends, so only the headers are read.
    client
        .0
        .send_streaming(request)
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test]
async fn every_route_requires_its_scope_and_accepts_no_other() {
    let fixture = Fixture::with_tokens(&tokens()).await;
    for (method, path, scope) in routes() {
        let path = path
            .replace("{queue}", "q")
            .replace("{id}", "a")
            .replace("{worker}", "w");
        for token in Scope::GRANTED {
            let mut client = fixture.client().await;
            let is_open = matches!(scope, Scope::Open | Scope::Any);
            let is_enough = is_open || token == scope || token == Scope::Admin;
            let status = status(&mut client, method, &path, Some(token.as_str())).await;
            let what = format!("{method} {path} with {}", token.as_str());
            assert_eq!(status != 403, is_enough, "{what}: {status}");
            assert_ne!(status, 401, "{what}");
        }
        let mut client = fixture.client().await;
        let bare = status(&mut client, method, &path, None).await;
        assert_eq!(bare != 401, scope == Scope::Open, "{method} {path}: {bare}");
    }
}

#[tokio::test]
async fn no_spelling_of_a_path_bypasses_the_token() {
    let fixture = Fixture::with_tokens(&tokens()).await;
    for path in [
        "/v1/queues/",
        "//v1/queues",
        "/v1//queues",
        "/V1/Queues",
        "/v1/%71ueues",
        "/v1/./queues",
        "/v1/%2e%2e/healthz",
        "/healthz/",
        "/healthz/../v1/queues",
        "/HEALTHZ",
        "/healthz%2f",
        "/nothing",
        "/",
    ] {
        for method in [
            "GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "PATCH", "TRACE",
        ] {
            let mut client = fixture.client().await;
            let status = status(&mut client, method, path, None).await;
            assert_eq!(status, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn an_unknown_token_is_rejected_and_guessing_is_limited() {
    let fixture = Fixture::with_tokens(&tokens()).await;
    let mut client = fixture.client().await;
    let mut seen = Vec::new();
    for guess in 0..8 {
        let token = format!("guess-{guess}");
        seen.push(status(&mut client, "GET", "/v1/queues", Some(&token)).await);
    }
    assert_eq!(seen.first(), Some(&401));
    assert_eq!(seen.last(), Some(&429));
    // A valid token from the same address is accepted all the time.
    let right = status(&mut client, "GET", "/v1/queues", Some("read")).await;
    let wrong = client.send_as("guess", "GET", "/v1/queues").await;
    let none = status(&mut client, "GET", "/v1/queues", None).await;
    assert_eq!((right, none), (200, 401));
    assert_eq!(problem(&wrong), (429, "too_many_requests".to_owned()));
    let wait = wrong.headers["retry-after"].to_str().unwrap();
    assert!((1..=60).contains(&wait.parse::<u32>().unwrap()), "{wait}");
}

#[tokio::test]
async fn a_token_over_its_rate_limit_has_to_wait_and_others_do_not() {
    let fixture =
        Fixture::with_tokens(&[("slow", "read", "* rate=1"), ("free", "read", "*")]).await;
    let mut client = fixture.client().await;
    let polling = async {
        // On a very slow machine one request may take a second.
        loop {
            let reply = client.send_as("slow", "GET", "/v1/queues").await;
            if reply.status != 200 {
                return reply;
            }
        }
    };
    let refused = timeout(LONG, polling).await.unwrap();
    assert_eq!(problem(&refused), (429, "too_many_requests".to_owned()));
    assert_eq!(refused.headers["retry-after"], "1");
    for _ in 0..20 {
        assert_eq!(
            client.send_as("free", "GET", "/v1/queues").await.status,
            200
        );
        assert_eq!(client.send_as("slow", "GET", "/healthz").await.status, 200);
    }
    let waiting = async {
        while client.send_as("slow", "GET", "/v1/queues").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        timeout(LONG, waiting).await.is_ok(),
        "it is never accepted again"
    );
}

#[tokio::test]
async fn a_token_allows_only_its_queues() {
    let fixture = Fixture::with_tokens(&[("mail", "admin", "mail-*"), ("all", "admin", "*")]).await;
    let mut client = fixture.client().await;
    let mut send = async |token: &str, method: &str, path: &str, body: Value| {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(path)
            .header("authorization", format!("Bearer {}", secret(token)))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()));
        client.0.send(request.unwrap()).await.unwrap()
    };
    for queue in ["mail-1", "post"] {
        let job = send(
            "all",
            "POST",
            &format!("/v1/queues/{queue}/jobs"),
            json!({}),
        )
        .await;
        assert_eq!(job.status, 201);
    }
    send(
        "all",
        "POST",
        "/v1/workers",
        json!({"worker":"w-post","queues":["post"]}),
    )
    .await;
    // A worker without queues may serve any queue.
    let idle = json!({"worker":"w-idle","queues":[]});
    send("all", "POST", "/v1/workers", idle).await;

    assert_eq!(
        send("mail", "POST", "/v1/queues/mail-2/jobs", json!({}))
            .await
            .status,
        201
    );
    for (path, body) in [
        ("/v1/queues/post/jobs", json!({})),
        ("/v1/queues/xmail-1/jobs", json!({})),
        ("/v1/queues/post/claim", json!({})),
        ("/v1/workers", json!({"queues":["mail-1","post"]})),
        ("/v1/workers", json!({"queues":[]})),
        (
            "/v1/workers",
            json!({"worker":"w-post","queues":["mail-1"]}),
        ),
        ("/v1/workers/w-idle/fail", json!({})),
        ("/v1/workers/w-post/command", json!({"command":"stop"})),
        ("/v1/workers/w-post/fail", json!({})),
        (
            "/v1/workers/w-new/heartbeat",
            json!({"running":[{"queue":"post","id":"a"}]}),
        ),
    ] {
        let refused = send("mail", "POST", path, body).await;
        assert_eq!(refused.status, 403, "{path} {refused:?}");
    }
    let queues = send("mail", "GET", "/v1/queues", json!({})).await;
    let queues = TestClient::json(&queues, 200);
    let names = queues.as_array().unwrap().iter().map(|it| &it["queue"]);
    assert!(names.eq(["mail-1", "mail-2"]), "{queues}");
    let workers = send("mail", "GET", "/v1/workers", json!({})).await;
    assert_eq!(TestClient::json(&workers, 200), json!([]));
    let metrics = send("mail", "GET", "/metrics", json!({})).await;
    assert!(!String::from_utf8_lossy(&metrics.body).contains("post"));
}

#[tokio::test]
async fn a_token_in_the_url_is_ignored_and_not_repeated() {
    let fixture = Fixture::with_tokens(&[("s3cr3t-canary", "admin", "*")]).await;
    let mut client = fixture.client().await;
    for path in [
        "/v1/queues?token=s3cr3t-canary-0123456789abcdef0123456789abcdef",
        "/v1/queues?access_token=s3cr3t-canary-0123456789abcdef0123456789abcdef",
    ] {
        let reply = client.get(path).await;
        assert_eq!(problem(&reply), (401, "unauthorized".to_owned()));
        assert!(!String::from_utf8_lossy(&reply.body).contains("s3cr3t"));
    }
}

#[test]
fn the_page_names_every_route_and_its_scope() {
    let page = include_str!("../../../../docs/http.md");
    for (method, path, scope) in api_routes() {
        let row = format!("| {method} | `{path}` | {} |", scope.as_str());
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn no_page_shows_the_digest_of_a_guessable_token() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut digests = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        let words = page.split(|c: char| !c.is_ascii_hexdigit());
        for digest in words.filter(|word| word.len() == 64) {
            digests += 1;
            let tokens = Tokens::parse(&format!("ann {digest} read"));
            let is_guessable = ["test", "token", "secret", "ann"]
                .iter()
                .any(|word| sha256(word) == digest);
            assert!(tokens.is_ok() && !is_guessable, "{path:?}: {digest}");
        }
    }
    assert!(digests > 0, "the sample of docs/http.md");
}

/// A body that the route accepts.
fn body(path: &str) -> Value {
    match path.rsplit('/').next().unwrap_or_default() {
        "cancel" | "retry" | "delete" | "promote" if !path.contains("/jobs/") => {
            json!({"all": true})
        }
        "settings" => json!({"settings": {"rate": "none"}}),
        "command" => json!({"command": "pause"}),
        "backfill" => json!({"from": "2030-01-01T00:00:00Z", "to": "2030-01-02T00:00:00Z"}),
        "apply" => json!({"schedules": []}),
        "s" => json!({"every": "1h", "job": {"payload": "secret payload"}}),
        _ => json!({}),
    }
}

#[tokio::test]
async fn each_request_of_an_operator_is_logged_and_no_other() {
    let fixture = Fixture::with_tokens(&tokens()).await;
    for (method, path, scope) in routes() {
        // The dashboard needs a session.
        if !path.starts_with("/v1/") {
            continue;
        }
        let path = path
            .replace("{queue}", "q")
            .replace("{id}", "a")
            .replace("{group}", "g")
            .replace("{name}", "s")
            .replace("{worker}", "w");
        let before = fixture.store.actions(None, 1).await.unwrap().items;
        let before = before.first().map_or(0, |record| record.number);
        let has_body = matches!(method, "POST" | "PUT");
        let text = if has_body {
            body(&path).to_string()
        } else {
            String::new()
        };
        let request = Request::builder()
            .method(method)
            .uri(&path)
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", secret("admin")));
        let request = request.body(Body::from(text)).unwrap();
        let mut client = fixture.client().await;
        client.0.send_streaming(request).await.unwrap();

        let after = fixture.store.actions(None, 10).await.unwrap().items;
        let count = after.first().map_or(0, |record| record.number) - before;
        let is_operator = matches!(scope, Scope::Operate | Scope::Admin);
        let is_logged = is_operator && !path.ends_with("/maintain");
        assert_eq!(count, u64::from(is_logged), "{method} {path}");
        if is_logged {
            let action = &after[0].action;
            assert_eq!(
                (action.who.as_str(), action.interface.as_str()),
                ("admin", "http")
            );
            assert!(!format!("{action:?}").contains("secret"), "{action:?}");
        }
    }
}
