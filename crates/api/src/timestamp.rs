//! Times in JSON: RFC 3339 in UTC with milliseconds. Unix seconds are accepted as well.

use windlass_core::{Due, Error, Result, Timestamp, duration};

/// How many characters of an invalid text an error quotes.
const QUOTED_MAX: usize = 40;

/// Formats a timestamp, for example `2026-01-31T08:05:00.250Z`.
pub fn format(at: Timestamp) -> String {
    let ms = i64::try_from(at.as_ms()).unwrap_or(i64::MAX);
    // The calendar ends with the year 9999; later times are shown as its maximum.
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.3}")
}

/// Parses a timestamp: RFC 3339, or unix seconds with or without a fraction.
///
/// Rounds up to milliseconds, so that nothing is due early.
pub fn parse(text: &str) -> Result<Timestamp> {
    let text = text.trim();
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let ms = if is_number {
        unix_ms(text)
    } else {
        rfc3339_ms(text)
    };
    ms.map(Timestamp::from_ms).ok_or_else(|| {
        Error::invalid(
            "time",
            format!("{}: {}", quote(text), reason(text)),
            "use RFC 3339, such as 2026-01-31T08:05:00Z, or unix seconds",
        )
    })
}

/// Parses a duration from now, or a timestamp.
pub fn parse_due(text: &str) -> Result<Due> {
    match duration::parse(text) {
        Ok(after) => Ok(Due::After(after)),
        Err(_) => parse(text).map(Due::At).map_err(|_| {
            Error::invalid(
                "time",
                format!("{}: neither a duration nor a time", quote(text)),
                "use a duration such as 5m, a time such as 2026-01-31T08:05:00Z, or unix seconds",
            )
        }),
    }
}

/// Returns why a text is not a timestamp.
fn reason(text: &str) -> &'static str {
    if text.is_empty() {
        "empty"
    } else if text.parse::<jiff::Timestamp>().is_ok() || text.starts_with('-') {
        "before 1970"
    } else {
        "neither RFC 3339 nor unix seconds"
    }
}

/// Quotes a text, truncated.
fn quote(text: &str) -> String {
    let short: String = text.chars().take(QUOTED_MAX).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}

fn rfc3339_ms(text: &str) -> Option<u64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(time.as_nanosecond().checked_add(999_999)? / 1_000_000)
        .ok()
        .filter(|_| time.as_nanosecond() >= 0)
}

fn unix_ms(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = fraction.chars().all(|c| c.is_ascii_digit());
    if !is_digits || text.ends_with('.') {
        return None;
    }
    let (ms, finer) = fraction.split_at(fraction.len().min(3));
    let ms: u64 = format!("{ms:0<3}").parse().ok()?;
    let round_up = u64::from(finer.contains(|c| c != '0'));
    seconds
        .parse::<u64>()
        .ok()?
        .checked_mul(1000)?
        .checked_add(ms + round_up)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_parsed_in_both_forms() {
        for (text, ms) in [
            ("1970-01-01T00:00:01Z", 1_000),
            ("1970-01-01T01:00:00.25+01:00", 250),
            ("2026-01-31T08:05:00.0000001Z", 1_769_846_700_001),
            ("0", 0),
            ("1769846700", 1_769_846_700_000),
            ("1769846700.5", 1_769_846_700_500),
            ("1769846700.0001", 1_769_846_700_001),
        ] {
            assert_eq!(parse(text).unwrap(), Timestamp::from_ms(ms), "{text}");
        }
        for bad in [
            "",
            "tomorrow",
            "-5",
            "1.",
            "1.2.3",
            "1e9",
            "2026-01-31",
            "1969-12-31T23:59:59Z",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_time_is_formatted_in_utc_with_milliseconds() {
        assert_eq!(
            format(Timestamp::from_ms(1_769_846_700_250)),
            "2026-01-31T08:05:00.250Z"
        );
        assert_eq!(format(Timestamp::from_ms(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            parse(&format(Timestamp::from_ms(123_456))).unwrap(),
            Timestamp::from_ms(123_456)
        );
        assert!(format(Timestamp::from_ms(u64::MAX)).starts_with("9999-12-"));
    }

    #[test]
    fn an_invalid_time_says_why() {
        for (text, why) in [
            ("", "empty"),
            ("1969-12-31T23:59:59Z", "before 1970"),
            ("tomorrow", "neither RFC 3339 nor unix seconds"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert_eq!(message, format!("invalid time: {text:?}: {why}"));
        }
        let message = parse_due(&"x".repeat(100)).unwrap_err().to_string();
        assert!(
            message.ends_with("xxx\"…: neither a duration nor a time"),
            "{message}"
        );
    }

    #[test]
    fn a_due_time_may_be_a_duration() {
        assert_eq!(parse_due("5m").unwrap(), Due::After(Duration::from_mins(5)));
        assert_eq!(
            parse_due("60").unwrap(),
            Due::At(Timestamp::from_ms(60_000))
        );
        assert!(parse_due("-5m").is_err());
    }
}
