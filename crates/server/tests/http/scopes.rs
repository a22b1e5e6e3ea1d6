//! Who may do what: every route × every scope × no token, and the queues a token is good for.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_server::{Scope, routes};

use crate::fixture::{Caller, LONG, Scene, problem};

/// The token of the tests for each scope: the scope's own word.
fn tokens() -> Vec<(&'static str, &'static str, &'static str)> {
    let each = Scope::GRANTED.iter();
    each.map(|scope| (scope.as_str(), scope.as_str(), "*"))
        .collect()
}

async fn status(caller: &mut Caller, method: &str, path: &str, token: Option<&str>) -> u16 {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    // A stream of events has no end: its head is enough.
    caller.0.open(request).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn every_route_wants_its_scope_and_nothing_else_will_do() {
    let scene = Scene::with_tokens(&tokens()).await;
    for (method, path, scope) in routes() {
        let path = path
            .replace("{queue}", "q")
            .replace("{id}", "a")
            .replace("{worker}", "w");
        for token in Scope::GRANTED {
            let mut caller = scene.client().await;
            let is_open = matches!(scope, Scope::Open | Scope::Any);
            let is_enough = is_open || token == scope || token == Scope::Admin;
            let status = status(&mut caller, method, &path, Some(token.as_str())).await;
            let what = format!("{method} {path} with {}", token.as_str());
            assert_eq!(status != 403, is_enough, "{what}: {status}");
            assert_ne!(status, 401, "{what}");
        }
        let mut caller = scene.client().await;
        let bare = status(&mut caller, method, &path, None).await;
        assert_eq!(bare != 401, scope == Scope::Open, "{method} {path}: {bare}");
    }
}

#[tokio::test]
async fn no_way_of_writing_a_path_goes_around_the_token() {
    let scene = Scene::with_tokens(&tokens()).await;
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
            let mut caller = scene.client().await;
            let status = status(&mut caller, method, path, None).await;
            assert_eq!(status, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused_and_guessing_is_slowed() {
    let scene = Scene::with_tokens(&tokens()).await;
    let mut caller = scene.client().await;
    let mut seen = Vec::new();
    for guess in 0..40 {
        let token = format!("guess-{guess}");
        seen.push(status(&mut caller, "GET", "/v1/queues", Some(&token)).await);
    }
    assert_eq!(seen.first(), Some(&401));
    assert_eq!(seen.last(), Some(&429));
    // A right one from the same address is let in all the while, and the wrong ones still are not.
    let right = status(&mut caller, "GET", "/v1/queues", Some("read")).await;
    let wrong = caller.ask_as("guess", "GET", "/v1/queues").await;
    let none = status(&mut caller, "GET", "/v1/queues", None).await;
    assert_eq!((right, none), (200, 401));
    assert_eq!(problem(&wrong), (429, "too_many_requests".to_owned()));
    let wait = wrong.headers["retry-after"].to_str().unwrap();
    assert!((1..=60).contains(&wait.parse::<u32>().unwrap()), "{wait}");
}

#[tokio::test]
async fn a_token_that_asks_too_often_has_to_wait_and_others_do_not() {
    let scene = Scene::with_tokens(&[("slow", "read", "* rate=1"), ("free", "read", "*")]).await;
    let mut caller = scene.client().await;
    let asking = async {
        // On a machine that takes a second for each request this goes on until it does not.
        loop {
            let reply = caller.ask_as("slow", "GET", "/v1/queues").await;
            if reply.status != 200 {
                return reply;
            }
        }
    };
    let refused = timeout(LONG, asking).await.unwrap();
    assert_eq!(problem(&refused), (429, "too_many_requests".to_owned()));
    assert_eq!(refused.headers["retry-after"], "1");
    for _ in 0..20 {
        assert_eq!(caller.ask_as("free", "GET", "/v1/queues").await.status, 200);
        assert_eq!(caller.ask_as("slow", "GET", "/healthz").await.status, 200);
    }
    let waiting = async {
        while caller.ask_as("slow", "GET", "/v1/queues").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    assert!(
        timeout(LONG, waiting).await.is_ok(),
        "it is never let in again"
    );
}

#[tokio::test]
async fn a_token_reaches_its_queues_only() {
    let scene = Scene::with_tokens(&[("mail", "admin", "mail-*"), ("all", "admin", "*")]).await;
    let mut caller = scene.client().await;
    let mut ask = async |token: &str, method: &str, path: &str, body: Value| {
        let request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).unwrap())
            .uri(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()));
        caller.0.ask(request.unwrap()).await.unwrap()
    };
    for queue in ["mail-1", "post"] {
        let job = ask(
            "all",
            "POST",
            &format!("/v1/queues/{queue}/jobs"),
            json!({}),
        )
        .await;
        assert_eq!(job.status, 201);
    }
    ask(
        "all",
        "POST",
        "/v1/workers",
        json!({"worker":"w-post","queues":["post"]}),
    )
    .await;
    // One that names no queue may be anybody's.
    let idle = json!({"worker":"w-idle","queues":[]});
    ask("all", "POST", "/v1/workers", idle).await;

    assert_eq!(
        ask("mail", "POST", "/v1/queues/mail-2/jobs", json!({}))
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
        ("/", json!({"payload":"x","dueTime":4_000_000_000_u64})),
    ] {
        let refused = ask("mail", "POST", path, body).await;
        assert_eq!(refused.status, 403, "{path} {refused:?}");
    }
    let queues = ask("mail", "GET", "/v1/queues", json!({})).await;
    let queues = Caller::json(&queues, 200);
    let names = queues.as_array().unwrap().iter().map(|it| &it["queue"]);
    assert!(names.eq(["mail-1", "mail-2"]), "{queues}");
    let workers = ask("mail", "GET", "/v1/workers", json!({})).await;
    assert_eq!(Caller::json(&workers, 200), json!([]));
    let metrics = ask("mail", "GET", "/metrics", json!({})).await;
    assert!(!String::from_utf8_lossy(&metrics.body).contains("post"));
}

#[tokio::test]
async fn a_token_in_the_url_is_no_token_and_is_not_repeated() {
    let scene = Scene::with_tokens(&[("s3cr3t-canary", "admin", "*")]).await;
    let mut caller = scene.client().await;
    for path in [
        "/v1/queues?token=s3cr3t-canary",
        "/v1/queues?access_token=s3cr3t-canary",
    ] {
        let reply = caller.get(path).await;
        assert_eq!(problem(&reply), (401, "unauthorized".to_owned()));
        assert!(!String::from_utf8_lossy(&reply.body).contains("s3cr3t"));
    }
}

#[test]
fn the_page_names_every_route_and_its_scope() {
    let page = include_str!("../../../../docs/http.md");
    for (method, path, scope) in routes() {
        let row = format!("| {method} | `{path}` | {} |", scope.as_str());
        assert!(page.contains(&row), "{row}");
    }
}
