//! Parses a cron pattern and its time zone, and reports what is wrong with them.

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use windlass_core::{Error, ErrorKind, Result};

const FIELDS: &str =
    "write 5 fields (minute hour day month weekday), or 6 with seconds first, such as `30 2 * * *`";

const NICKNAMES: &str = "write the fields: `0 * * * *` for @hourly, `0 0 * * *` for @daily, `0 0 * * 0` for \
    @weekly, `0 0 1 * *` for @monthly, `0 0 1 1 *` for @yearly";

/// A cron pattern in a time zone.
#[derive(Debug, Clone)]
pub struct CronPattern {
    pub(crate) cron: Cron,
    pub(crate) zone: TimeZone,
    /// Whether hour and minute are fixed: no `*`, range or step. Decides what a change of the clock does.
    pub(crate) is_fixed: bool,
}

impl CronPattern {
    /// Parses a pattern of 5 fields, or of 6 with seconds first, and an IANA time zone such as `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// Returns an error if the pattern or the zone is invalid, or if the pattern never matches.
    pub fn parse(pattern: &str, zone: &str) -> Result<Self> {
        let invalid = |why: String| Error::new(ErrorKind::Invalid, why, FIELDS);
        let fields: Vec<_> = pattern.split_whitespace().collect();
        let ([minute, hour, _, _, _] | [_, minute, hour, _, _, _]) = fields[..] else {
            let count = fields.len();
            let noun = if count == 1 { "field" } else { "fields" };
            let why = format!("cron pattern {pattern:?} has {count} {noun}");
            if pattern.trim_start().starts_with('@') {
                return Err(Error::new(ErrorKind::Invalid, why, NICKNAMES));
            }
            return Err(invalid(why));
        };
        let parser = CronParser::builder()
            .seconds(Seconds::Optional)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(pattern).map_err(|error| {
            let field = wrong_field(parser, &fields).unwrap_or_default();
            invalid(format!(
                "cron pattern {pattern:?}: {field}{}",
                reason(&error)
            ))
        })?;
        if cron
            .find_next_occurrence(&DateTime::constant(2024, 1, 1, 0, 0, 0, 0), true)
            .is_err()
        {
            return Err(invalid(format!("cron pattern {pattern:?} never matches")));
        }
        let zone = TimeZone::get(zone).map_err(|_| {
            let help = "use an IANA name such as Europe/Berlin, America/New_York or UTC";
            Error::new(
                ErrorKind::Invalid,
                format!("unknown time zone {zone:?}"),
                help,
            )
        })?;
        let is_fixed = !format!("{minute}{hour}").contains(['*', '?', '-', '/']);
        Ok(Self {
            cron,
            zone,
            is_fixed,
        })
    }
}

/// The first field that is invalid by itself, for the start of a message.
fn wrong_field(parser: CronParser, fields: &[&str]) -> Option<String> {
    const NAMES: [&str; 6] = ["second", "minute", "hour", "day", "month", "weekday"];
    let names = &NAMES[NAMES.len() - fields.len()..];
    let is_wrong = |index: &usize| {
        let mut alone = vec!["*"; fields.len()];
        alone[*index] = fields[*index];
        parser.parse(&alone.join(" ")).is_err()
    };
    let index = (0..fields.len()).find(is_wrong)?;
    Some(format!("{} {:?}: ", names[index], fields[index]))
}

/// The parser's reason, without its own names.
fn reason(error: &CronError) -> String {
    match error {
        CronError::InvalidPattern(why)
        | CronError::IllegalCharacters(why)
        | CronError::ComponentError(why) => {
            // The parser quotes what it made of the names.
            if why.contains("illegal character") {
                return "illegal characters; names have three letters, such as MON or JAN"
                    .to_owned();
            }
            why.trim_end_matches('.').to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_pattern_or_zone_is_reported_with_what_to_write() {
        for (pattern, zone, expected) in [
            ("", "UTC", "has 0 fields"),
            ("* * * *", "UTC", "has 4 fields"),
            ("@daily", "UTC", "has 1 field"),
            ("0 0 1 1 * 2030 1", "UTC", "has 7 fields"),
            ("61 * * * *", "UTC", "minute \"61\": "),
            ("0 0 24 * * *", "UTC", "hour \"24\": "),
            ("0 0 * * 9", "UTC", "weekday \"9\": "),
            ("a b c d e", "UTC", "illegal"),
            ("0 0 * * MONDAY", "UTC", "such as MON"),
            ("0 0 30 2 *", "UTC", "never matches"),
            ("0 0 * * *", "Mars/Base", "unknown time zone \"Mars/Base\""),
        ] {
            let error = CronPattern::parse(pattern, zone)
                .expect_err(pattern)
                .to_string();
            assert!(error.contains(expected), "{pattern}: {error}");
        }
    }

    #[test]
    fn lists_are_fixed_times_and_ranges_are_not() {
        for (pattern, is_fixed) in [
            ("30 2 * * *", true),
            ("0,30 2,3 * * *", true),
            ("15 30 2 * * *", true),
            ("30 * * * *", false),
            ("*/15 2 * * *", false),
            ("30 1-3 * * *", false),
        ] {
            let parsed = CronPattern::parse(pattern, "UTC").expect(pattern);
            assert_eq!(parsed.is_fixed, is_fixed, "{pattern}");
        }
    }
}
