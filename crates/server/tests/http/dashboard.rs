//! The pages of the dashboard: what each shows, which buttons it has for whom, and what they do.

use serde_json::{Value, json};
use windlass_core::QueueName;

use crate::browser::{Browser, text};
use crate::fixture::{Fixture, TestClient};

fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// A server with a queue that has jobs, a group, a schedule and a worker.
async fn with_life() -> (Fixture, TestClient) {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    fill(&mut client, None).await;
    (fixture, client)
}

async fn fill(client: &mut TestClient, token: Option<&str>) {
    let send = async |client: &mut TestClient, method: &str, path: &str, body: Value| {
        let mut request = axum::http::Request::builder().method(method).uri(path);
        request = request.header("content-type", "application/json");
        if let Some(token) = token {
            let secret = crate::fixture::secret(token);
            request = request.header("authorization", format!("Bearer {secret}"));
        }
        let body = axum::body::Body::from(body.to_string());
        let reply = client.0.send(request.body(body).unwrap()).await.unwrap();
        assert!(reply.status.is_success(), "{path}: {}", text(&reply));
    };
    for (priority, group) in [(1, "acme"), (5, "acme"), (5, "a/b c")] {
        let job = json!({"payload":"x","priority":priority,"group":group});
        send(client, "POST", "/v1/queues/mail/jobs", job).await;
    }
    let schedule = json!({"every":"1h","job":{"payload":"x"}});
    send(client, "PUT", "/v1/queues/mail/schedules/hourly", schedule).await;
    let worker = json!({"worker":"w-1","name":"sender","host":"h1","pid":7,"version":"0.1.0","queues":["mail"]});
    send(client, "POST", "/v1/workers", worker).await;
}

/// Sends the form of a button, and follows to the next page.
async fn press(browser: &mut Browser, address: &str, fields: &str) -> String {
    let token = browser.form_token("/").await;
    let form = format!("form_token={token}&back=/&{fields}");
    let reply = browser.post(address, &form).await;
    assert_eq!(reply.status, 303, "{address}: {}", text(&reply));
    let next = reply.headers["location"].to_str().unwrap().to_owned();
    let page = browser.get(&next).await;
    assert_eq!(page.status, 200, "{next}");
    text(&page)
}

#[tokio::test]
async fn the_overview_shows_workers_and_what_needs_attention() {
    let (fixture, mut client) = with_life().await;
    client.post("/v1/queues/idle/jobs", json!({})).await;
    let mut browser = Browser::new(&fixture).await;
    // The first checks may still run when the first page is rendered.
    loop {
        let page = text(&browser.get("/").await);
        assert!(page.contains("1 idle"), "{page}");
        if page.contains("The checks are running") {
            continue;
        }
        assert!(page.contains("no worker claims from this queue"), "{page}");
        assert!(page.contains("start a worker"), "{page}");
        return;
    }
}

#[tokio::test]
async fn a_token_for_some_queues_sees_findings_about_those_only() {
    let fixture = Fixture::with_tokens(&[("mail", "read", "mail"), ("all", "admin", "*")]).await;
    let mut client = fixture.client().await;
    for queue in ["mail", "private"] {
        client
            .send_as("all", "POST", &format!("/v1/queues/{queue}/pause"))
            .await;
    }
    let mut browser = Browser::new(&fixture).await;
    browser.sign_in("mail", "/").await;
    loop {
        let page = text(&browser.get("/").await);
        assert!(!page.contains("private"), "{page}");
        if !page.contains("The checks are running") {
            assert!(page.contains("paused, 0 jobs ready"), "{page}");
            return;
        }
    }
}

#[tokio::test]
async fn the_page_of_a_queue_shows_its_parts() {
    let (fixture, _) = with_life().await;
    let mut browser = Browser::new(&fixture).await;

    let page = text(&browser.get("/queues/mail").await);

    for part in [
        "Priority 1",
        "Priority 5",
        "hourly",
        "every 1h",
        ">acme</a>",
        "/queues/mail/groups/a%2Fb%20c",
        "poison_after",
        "/queues/mail/pause",
        "/queues/mail/purge",
        "<strong>3</strong>",
    ] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    assert_eq!(browser.get("/queues/none").await.status, 404);
    assert_eq!(browser.get("/queues/a%20b").await.status, 400);
}

#[tokio::test]
async fn every_button_of_a_queue_does_what_it_says() {
    let (fixture, _) = with_life().await;
    let mut browser = Browser::new(&fixture).await;
    let (browser, store, mail) = (&mut browser, &fixture.store, queue("mail"));

    let page = press(browser, "/queues/mail/pause", "").await;
    assert!(page.contains("The queue is paused"), "{page}");
    assert!(store.stats(&mail).await.unwrap().unwrap().is_paused);
    press(browser, "/queues/mail/resume", "").await;
    assert!(!store.stats(&mail).await.unwrap().unwrap().is_paused);

    // Only what was changed is sent: the other value is invalid.
    let form = "settings.poison_after=7&was.settings.poison_after=3&settings.rate=bad&was.settings.rate=bad";
    press(browser, "/queues/mail/settings", form).await;
    assert_eq!(store.settings(&mail).await.unwrap().poison_after, 7);

    press(browser, "/queues/mail/groups/a%2Fb%20c/pause", "").await;
    let groups = store.groups(&mail, None, 10).await.unwrap().items;
    assert!(
        groups
            .iter()
            .any(|group| group.name.as_str() == "a/b c" && group.is_paused)
    );
    press(
        browser,
        "/queues/mail/groups/a%2Fb%20c",
        "max_running=4&rate=none",
    )
    .await;
    let page = text(&browser.get("/queues/mail/groups/a%2Fb%20c").await);
    assert!(page.contains("name=\"max_running\" value=\"4\""), "{page}");

    let before = store.stats(&mail).await.unwrap().unwrap().ready;
    press(browser, "/queues/mail/schedules/hourly/run", "").await;
    assert_eq!(store.stats(&mail).await.unwrap().unwrap().ready, before + 1);
    press(browser, "/queues/mail/schedules/hourly/pause", "").await;
    let page = text(&browser.get("/schedules").await);
    assert!(
        page.contains("hourly <span class=\"tag warn\">paused"),
        "{page}"
    );

    let page = text(&browser.get("/queues/mail/purge").await);
    assert!(
        page.contains("deletes 4 ready and scheduled jobs"),
        "{page}"
    );
    press(browser, "/queues/mail/purge", "").await;
    assert_eq!(store.stats(&mail).await.unwrap().unwrap().ready, 0);
}

#[tokio::test]
async fn an_action_that_fails_is_explained_on_a_page() {
    let (fixture, _) = with_life().await;
    let mut browser = Browser::new(&fixture).await;
    let form = format!("form_token={}", browser.form_token("/").await);
    let reply = browser.post("/queues/mail/delete", &form).await;
    assert_eq!(reply.status, 409);
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    assert!(text(&reply).contains("has jobs"), "{}", text(&reply));
    let form = format!("{form}&settings.rate=often");
    let reply = browser.post("/queues/mail/settings", &form).await;
    assert_eq!(reply.status, 400);
    assert!(text(&reply).contains("rate"), "{}", text(&reply));
}

#[tokio::test]
async fn a_worker_gets_commands_and_can_be_declared_dead() {
    let (fixture, _) = with_life().await;
    let mut browser = Browser::new(&fixture).await;
    let page = text(&browser.get("/workers").await);
    for part in [
        "sender",
        "w-1",
        "h1",
        "pid 7",
        ">idle<",
        "/workers/w-1/stop",
    ] {
        assert!(page.contains(part), "no {part}: {page}");
    }
    press(&mut browser, "/workers/w-1/command", "command=pause").await;
    assert!(text(&browser.get("/workers").await).contains("command: pause"));
    let page = text(&browser.get("/workers/w-1/stop").await);
    assert!(page.contains("name=\"command\" value=\"stop\""), "{page}");
    press(&mut browser, "/workers/w-1/stop", "command=stop").await;
    assert!(text(&browser.get("/workers").await).contains("command: stop"));
    let page = press(&mut browser, "/workers/w-1/fail", "").await;
    assert!(page.contains("is declared dead"), "{page}");
}

#[tokio::test]
async fn pages_have_only_the_buttons_that_the_token_allows() {
    let fixture = Fixture::with_tokens(&[
        ("reader", "read", "*"),
        ("operator", "read,operate", "*"),
        ("all", "admin", "*"),
    ])
    .await;
    fill(&mut fixture.client().await, Some("all")).await;
    for (token, operates, administrates) in [
        ("reader", false, false),
        ("operator", true, false),
        ("all", true, true),
    ] {
        let mut browser = Browser::new(&fixture).await;
        browser.sign_in(token, "/").await;
        for (path, button, is_there) in [
            ("/", "/queues/mail/pause", operates),
            ("/queues/mail", "/queues/mail/pause", operates),
            (
                "/queues/mail",
                "/queues/mail/schedules/hourly/run",
                operates,
            ),
            ("/queues/mail", "/queues/mail/groups/acme/pause", operates),
            ("/queues/mail", "/queues/mail/purge", administrates),
            ("/queues/mail", "/queues/mail/settings", administrates),
            (
                "/queues/mail/settings",
                "name=\"settings.rate",
                administrates,
            ),
            (
                "/queues/mail/purge",
                "formaction=\"/queues/mail/purge",
                administrates,
            ),
            (
                "/queues/mail/delete",
                "formaction=\"/queues/mail/delete",
                administrates,
            ),
            (
                "/queues/mail/groups/acme",
                "formaction=\"/queues/mail/groups/acme",
                operates,
            ),
            (
                "/schedules",
                "/queues/mail/schedules/hourly/pause",
                operates,
            ),
            ("/workers", "/workers/w-1/command", operates),
            ("/workers", "/workers/w-1/fail", operates),
            (
                "/workers/w-1/fail",
                "formaction=\"/workers/w-1/fail",
                operates,
            ),
        ] {
            let page = browser.get(path).await;
            assert_eq!(page.status, 200, "{path}");
            let has_button = text(&page).contains(button);
            assert_eq!(has_button, is_there, "{token} {path} {button}");
        }
    }
}

#[tokio::test]
async fn schedules_of_all_queues_are_paged() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    let body = json!({"every":"1h","job":{"payload":"x"}});
    for (queue, count) in [("a", 40), ("b", 40), ("c", 3)] {
        for number in 0..count {
            let path = format!("/v1/queues/{queue}/schedules/{queue}-{number:02}");
            client.send("PUT", &path, body.clone()).await;
        }
    }
    let mut browser = Browser::new(&fixture).await;
    let (mut path, mut pages, mut found) = ("/schedules".to_owned(), 0, 0);
    loop {
        let page = text(&browser.get(&path).await);
        pages += 1;
        found += page.matches("<th scope=\"row\"").count();
        let Some((before, _)) = page.split_once("\">More schedules") else {
            break;
        };
        path = before
            .rsplit("href=\"")
            .next()
            .unwrap()
            .replace("&amp;", "&")
            .replace("&#38;", "&");
    }
    assert_eq!((pages, found), (2, 83));
}

#[tokio::test]
async fn queues_are_found_by_name_and_sorted() {
    let fixture = Fixture::new().await;
    let mut client = fixture.client().await;
    for (queue, jobs) in [("alpha", 1), ("beta", 3), ("gamma", 2)] {
        for _ in 0..jobs {
            client
                .post(&format!("/v1/queues/{queue}/jobs"), json!({}))
                .await;
        }
    }
    let mut browser = Browser::new(&fixture).await;
    let order = |page: &str| {
        let mut found: Vec<_> = ["alpha", "beta", "gamma"]
            .into_iter()
            .filter_map(|name| {
                Some((
                    page.find(&format!("class=\"name\"><a href=\"/queues/{name}\""))?,
                    name,
                ))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    let by_name = text(&browser.get("/").await);
    let by_ready = text(&browser.get("/?sort=ready").await);
    let filtered = text(&browser.get("/?q=mm&sort=ready").await);
    assert_eq!(order(&by_name), ["alpha", "beta", "gamma"]);
    assert_eq!(order(&by_ready), ["beta", "gamma", "alpha"]);
    assert_eq!(order(&filtered), ["gamma"]);
    let hostile = text(
        &browser
            .get("/?q=%22%3E%3Cscript%3E&sort=%22%3E%3Cscript%3E")
            .await,
    );
    assert!(!hostile.contains("\"><script>"), "{hostile}");
}
