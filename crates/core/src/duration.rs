//! Human-readable durations: `500ms`, `10s`, `5m`, `1h30m`, `2d`.
//!
//! ```
//! # use windlass_core as windlass;
//! use windlass::duration;
//!
//! let parsed = duration::parse("1h30m")?;
//! assert_eq!(parsed.as_secs(), 5_400);
//! assert_eq!(duration::format(parsed), "1h30m");
//! # Ok::<(), windlass::Error>(())
//! ```

use std::time::Duration;

use crate::error::Error;

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Parses a duration. Every number needs a unit; several can be combined (`1h30m`).
pub fn parse(text: &str) -> Result<Duration, Error> {
    parse_named("duration", text)
}

/// Like [`parse`], for a field whose name the error has.
pub fn parse_named(name: &str, text: &str) -> Result<Duration, Error> {
    let invalid = |text, why| invalid(name, text, why);
    let mut rest = text.trim();
    let mut total_ms: u64 = 0;
    if rest.is_empty() {
        return Err(invalid(text, "missing number"));
    }
    if rest.starts_with('-') {
        return Err(invalid(text, "negative value"));
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let amount: u64 = rest[..digits]
            .parse()
            .map_err(|_| invalid(text, "missing number"))?;
        let after = &rest[digits..];
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (_, unit_ms) = UNITS
            .iter()
            .find(|(name, _)| *name == &after[..letters])
            .ok_or_else(|| {
                let is_missing = letters == 0 && after.is_empty();
                let why = if is_missing {
                    "missing unit"
                } else {
                    "unknown unit"
                };
                invalid(text, why)
            })?;
        total_ms = amount
            .checked_mul(*unit_ms)
            .and_then(|ms| total_ms.checked_add(ms))
            .ok_or_else(|| invalid(text, "value too large"))?;
        rest = &after[letters..];
    }
    Ok(Duration::from_millis(total_ms))
}

/// Formats a duration so that [`parse`] reads it back.
pub fn format(duration: Duration) -> String {
    let mut ms = crate::time::as_ms(duration);
    let mut parts = Vec::new();
    for (name, unit_ms) in UNITS.iter().rev() {
        if ms >= *unit_ms {
            parts.push(format!("{}{name}", ms / unit_ms));
            ms %= unit_ms;
        }
    }
    if parts.is_empty() {
        "0s".to_owned()
    } else {
        parts.concat()
    }
}

/// Formats a duration in its largest unit, seconds or more, for a glance: `5m` instead of `5m12s340ms`.
pub fn short(duration: Duration) -> String {
    let ms = crate::time::as_ms(duration);
    let whole = |(_, unit_ms): &&(&str, u64)| ms >= *unit_ms;
    let unit = UNITS[1..].iter().rev().find(whole);
    unit.map_or("0s".to_owned(), |(name, unit_ms)| {
        format!("{}{name}", ms / unit_ms)
    })
}

fn invalid(name: &str, text: &str, why: &str) -> Error {
    let short: String = text.chars().take(40).collect();
    let is_number = !short.is_empty() && short.bytes().all(|byte| byte.is_ascii_digit());
    let help = if is_number {
        format!(
            "write {short}s for seconds or {short}m for minutes; the units are ms, s, m, h and d"
        )
    } else {
        "use a number and a unit, such as 500ms, 10s, 5m, 1h30m or 2d".to_owned()
    };
    Error::invalid(name, format!("{why} in {short:?}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_durations_with_units() {
        for (text, ms) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for bad in [
            "",
            "10",
            "-5s",
            "s",
            "1w",
            "1.5h",
            "99999999999999999999s",
            "184467440737095517d",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_short_duration_is_its_largest_unit() {
        for (ms, text) in [
            (0, "0s"),
            (999, "0s"),
            (59_999, "59s"),
            (312_340, "5m"),
            (7_200_000, "2h"),
            (172_800_000, "2d"),
        ] {
            assert_eq!(short(Duration::from_millis(ms)), text, "{ms}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ms in [0, 1, 999, 1_000, 5_400_000, 90_061_001] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse(&format(duration)).unwrap(), duration);
        }
    }
}
