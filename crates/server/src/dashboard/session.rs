//! Sessions of browsers: who signed in with which token. They live in the memory of this server, by digest.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::time::{Duration, Instant};
use windlass_api::Code;

use crate::caller::{Caller, Credential};
use crate::error::HttpError;
use crate::state::AppState;

/// How long a session is valid, however much it is used.
pub(super) const VALID_FOR: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a session is valid without a request. An open page that shows live data counts as use.
const IDLE_MAX: Duration = Duration::from_secs(60 * 60);

/// The most sessions. The one unused for longest makes room.
const SESSIONS_MAX: usize = 10_000;

/// The bytes of a session id and of a form token.
const SECRET_BYTES: usize = 32;

/// A session, as its requests see it.
pub(crate) struct Session {
    digest: [u8; 32],
    /// What its forms carry.
    form_token: Arc<str>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Entry {
    caller: Caller,
    opened: Instant,
    used: Instant,
}

impl Entry {
    fn is_valid(&self, now: Instant) -> bool {
        now < self.opened + VALID_FOR && now < self.used + IDLE_MAX
    }
}

/// All sessions, by the digest of their id.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Entry>>);

impl Sessions {
    /// Opens a session for the caller of a token. Returns its id, the value of the cookie.
    pub(super) fn open(&self, caller: Caller) -> Result<String, HttpError> {
        let id = secret()?;
        let session = Arc::new(Session {
            digest: digest(&id),
            form_token: secret()?.into(),
        });
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SESSIONS_MAX {
            all.retain(|_, entry| entry.is_valid(now));
        }
        if all.len() >= SESSIONS_MAX {
            let oldest = all.iter().min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                all.remove(&oldest);
            }
        }
        let entry = Entry {
            caller: caller.in_session(Arc::clone(&session)),
            opened: now,
            used: now,
        };
        all.insert(session.digest, entry);
        Ok(id)
    }

    /// Returns the caller of a session id, and counts this as use.
    pub(crate) fn find(&self, id: &str) -> Option<Caller> {
        self.touch(digest(id))
    }

    /// Counts a use of a session. Returns false if it has ended.
    pub(super) fn is_open(&self, session: &Session) -> bool {
        self.touch(session.digest).is_some()
    }

    /// Ends a session.
    pub(super) fn close(&self, session: &Session) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&session.digest);
    }

    fn touch(&self, digest: [u8; 32]) -> Option<Caller> {
        let now = Instant::now();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.get_mut(&digest)?;
        if !entry.is_valid(now) {
            all.remove(&digest);
            return None;
        }
        entry.used = now;
        Some(entry.caller.clone())
    }
}

/// The form token of callers without a session: pages of other sites cannot read it.
#[derive(Debug, Default)]
pub(crate) struct FormToken(OnceLock<Arc<str>>);

impl FormToken {
    fn get(&self) -> Result<Arc<str>, HttpError> {
        if let Some(token) = self.0.get() {
            return Ok(Arc::clone(token));
        }
        let token = secret()?;
        Ok(Arc::clone(self.0.get_or_init(|| token.into())))
    }
}

/// Returns what a form for this caller carries.
pub(super) fn form_token(state: &AppState, caller: &Caller) -> Result<Arc<str>, HttpError> {
    caller.session().map_or_else(
        || state.form_token.get(),
        |session| Ok(Arc::clone(&session.form_token)),
    )
}

/// Rejects a form without the right token. A request with a bearer token needs none: no page can add that header to
/// a form.
pub(super) fn check_form(
    state: &AppState,
    caller: &Caller,
    sent: Option<&str>,
) -> Result<(), HttpError> {
    if matches!(caller.credential, Credential::Token) {
        return Ok(());
    }
    let expected = form_token(state, caller)?;
    let is_same: bool = expected
        .as_bytes()
        .ct_eq(sent.unwrap_or_default().as_bytes())
        .into();
    if is_same {
        return Ok(());
    }
    let why = "the form is from an earlier session or another server";
    let help = "go back, reload the page and try again";
    Err(HttpError::new(Code::Forbidden, why, help))
}

/// Returns the session id in the cookies of a request.
pub(crate) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let name = cookie_name(headers);
    let lines = headers.get_all(header::COOKIE).iter();
    let mut pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(name.as_str())?.strip_prefix('='))
}

/// The name of the cookie. It has the port: a browser sends the cookies of a host to all its ports, and a
/// second server on this host has sessions of its own.
pub(super) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    port.map_or_else(
        || "windlass_session".to_owned(),
        |port| format!("windlass_session_{port}"),
    )
}

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

fn secret() -> Result<String, HttpError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let why = format!("cannot read random bytes: {error}");
        HttpError::new(Code::Internal, why, "check that getrandom is allowed")
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::caller::Limits;
    use crate::scope::Grant;

    fn caller() -> Caller {
        Caller::new(Grant::all(), Limits::of(None, 0)).named(&"ann".into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_after_an_hour_without_use_and_after_twelve_in_any_case() {
        let sessions = Sessions::default();
        let (idle, used) = (
            sessions.open(caller()).unwrap(),
            sessions.open(caller()).unwrap(),
        );
        for _ in 0..13 {
            tokio::time::advance(Duration::from_secs(55 * 60)).await;
            assert!(sessions.find(&used).is_some());
        }
        assert!(sessions.find(&idle).is_none());
        tokio::time::advance(Duration::from_secs(6 * 60)).await;
        assert!(sessions.find(&used).is_none(), "12 hours are over");
    }

    #[tokio::test]
    async fn a_closed_session_is_unknown_and_an_id_is_long_and_random() {
        let sessions = Sessions::default();
        let (first, second) = (
            sessions.open(caller()).unwrap(),
            sessions.open(caller()).unwrap(),
        );
        assert_ne!(first, second);
        assert_eq!(first.len(), 43);
        let found = sessions.find(&first).unwrap();
        let session = found.session().unwrap();
        assert!(sessions.is_open(session));
        assert!(!format!("{found:?}").contains(session.form_token.as_ref()));
        sessions.close(session);
        assert!(!sessions.is_open(session) && sessions.find(&first).is_none());
        assert!(sessions.find(&second).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_session_unused_for_longest_makes_room() {
        let sessions = Sessions::default();
        let unused = sessions.open(caller()).unwrap();
        let first = sessions.open(caller()).unwrap();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.find(&first).is_some());
        for _ in 1..SESSIONS_MAX {
            sessions.open(caller()).unwrap();
        }
        assert!(sessions.find(&unused).is_none());
        assert!(sessions.find(&first).is_some());
        assert_eq!(sessions.0.lock().unwrap().len(), SESSIONS_MAX);
    }

    #[test]
    fn the_cookie_of_this_port_is_read_among_others() {
        let mut headers = HeaderMap::new();
        let set = |headers: &mut HeaderMap, name: &'static str, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(&mut headers, "host", "localhost:7700");
        set(
            &mut headers,
            "cookie",
            "a=b; windlass_session_77=x; windlass_session_7700=id",
        );
        assert_eq!(cookie(&headers), Some("id"));
        set(&mut headers, "host", "jobs.example");
        assert_eq!(cookie(&headers), None);
        set(&mut headers, "cookie", "windlass_session=id2");
        assert_eq!(cookie(&headers), Some("id2"));
    }
}
