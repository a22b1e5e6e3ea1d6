//! A browser: it keeps the cookie of the session, and sends forms.

use axum::body::Body;
use axum::http::Request;
use windlass_server::client::Reply;

use crate::fixture::{Fixture, TestClient, secret};

/// What a browser sends with a page that its user opens.
pub(crate) const ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

pub(crate) struct Browser {
    client: TestClient,
    pub(crate) cookie: Option<String>,
    /// Headers of every request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Browser {
    pub(crate) async fn new(fixture: &Fixture) -> Self {
        Self {
            client: fixture.client().await,
            cookie: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        match &self.cookie {
            Some(cookie) => request.header("cookie", cookie),
            None => request,
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        let request = self.request("GET", path).header("accept", ACCEPT);
        let request = request.body(Body::empty()).unwrap();
        self.client.0.send(request).await.unwrap()
    }

    /// Sends a form.
    pub(crate) async fn post(&mut self, path: &str, form: &str) -> Reply {
        let request = self.request("POST", path).header("accept", ACCEPT);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body(Body::from(form.to_owned())).unwrap();
        self.client.0.send(request).await.unwrap()
    }

    /// Signs in with the token of a name.
    pub(crate) async fn sign_in(&mut self, token: &str, to: &str) -> Reply {
        let to: String = form_urlencoded::byte_serialize(to.as_bytes()).collect();
        let form = format!("token={}&to={to}", secret(token));
        let reply = self.post("/sign-in", &form).await;
        let cookie = reply.headers.get("set-cookie");
        let cookie = cookie.map(|cookie| cookie.to_str().unwrap().split(';').next().unwrap());
        self.cookie = cookie.map(str::to_owned);
        reply
    }

    /// Returns the form token of a page.
    pub(crate) async fn form_token(&mut self, path: &str) -> String {
        let page = text(&self.get(path).await);
        let after = page.split("name=\"form_token\" value=\"").nth(1).unwrap();
        after.split('"').next().unwrap().to_owned()
    }
}

/// Returns the text of a reply.
pub(crate) fn text(reply: &Reply) -> String {
    String::from_utf8(reply.body.to_vec()).unwrap()
}
