//! The progress of a running job as text: fraction, time and message, separated by spaces.

use windlass_core::Timestamp;
use windlass_core::store::{Fraction, Progress};

pub(crate) fn write(fraction: f64, at_ms: u64, message: Option<&str>) -> String {
    match message {
        Some(message) => format!("{fraction} {at_ms} {message}"),
        None => format!("{fraction} {at_ms}"),
    }
}

pub(crate) fn parse(text: &str) -> Option<Progress> {
    let mut fields = text.splitn(3, ' ');
    Some(Progress {
        fraction: Fraction::new(fields.next()?.parse().ok()?).ok()?,
        at: Timestamp::from_ms(fields.next()?.parse().ok()?),
        message: fields.next().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_back_as_written() {
        let progress = parse(&write(0.1, 5, Some("two words\nand a line"))).unwrap();
        assert_eq!(progress.message.as_deref(), Some("two words\nand a line"));
        assert!((progress.fraction.get() - 0.1).abs() < f64::EPSILON);
    }
}
