//! Texts that users write: the URL of a store, times, durations, settings and tokens.

use windlass::StoreUrl;
use windlass_api::timestamp;
use windlass_core::store::{Setting, Settings};
use windlass_core::{Due, Token, duration};
use windlass_store_redis::check_url;

/// Parses `data` in every form. What is printed is read back, and never shows a password.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    url(text);
    time(text);
    if let Ok(setting) = text.parse::<Setting>() {
        let mut settings = Settings::default();
        if settings.apply(&setting).is_ok() {
            for shown in settings.all() {
                let again = Setting::new(shown.name(), shown.value());
                assert!(again.is_ok(), "{text:?} became {shown:?}: {again:?}");
            }
        }
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_string().parse().ok(), Some(token));
    }
}

fn url(text: &str) {
    let parsed = text.parse::<StoreUrl>();
    let checked = check_url(text);
    let Ok(url) = parsed else {
        return;
    };
    let shown = url.to_string();
    let again = url.to_secret_string().parse::<StoreUrl>().ok();
    assert_eq!(again.as_ref(), Some(&url));
    if matches!(url, StoreUrl::Redis { .. }) {
        assert!(checked.is_ok(), "{text:?}: {checked:?}");
        // The longer prefix may exceed the limit.
        let sub = url.with_sub_prefix("sub").map(|sub| sub.to_string());
        for shown in [shown, format!("{url:?}"), sub.unwrap_or_default()] {
            for secret in passwords(text) {
                assert!(!shown.contains(secret), "{shown} shows {secret}");
            }
        }
    }
}

/// The passwords of a URL that cannot occur in it for another reason.
fn passwords(text: &str) -> impl Iterator<Item = &str> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let password = user.split_once(':').map(|(_, password)| password);
    password
        .into_iter()
        .filter(|password| password.len() >= 4 && text.matches(password).count() == 1)
}

fn time(text: &str) {
    if let Ok(at) = timestamp::parse(text) {
        let shown = timestamp::format(at);
        let again = timestamp::parse(&shown).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let is_shown_in_full = !shown.starts_with("9999-12-3");
        assert!(again == at || !is_shown_in_full, "{text:?}: {shown}");
    }
    if let Ok(length) = duration::parse(text) {
        let shown = duration::format(length);
        let again = duration::parse(&shown).ok();
        assert_eq!(again, Some(length), "{text:?}: {shown}");
    }
    if let Ok(Due::After(length)) = timestamp::parse_due(text) {
        assert_eq!(duration::parse(text).ok(), Some(length), "{text:?}");
    }
}
