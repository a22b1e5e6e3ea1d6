//! Progress: how far a running job has come.

use windlass_core::{Progress, Result};

use super::{damaged, text, time};

const PART: &str = "progress";

/// Reads the progress of a job; one without a message has no second tab.
pub(crate) fn read(bytes: &[u8]) -> Result<Progress> {
    let mut parts = text(PART, bytes)?.splitn(3, '\t');
    let fraction = parts.next().unwrap_or_default();
    let at = parts.next().unwrap_or_default();
    Ok(Progress {
        fraction: fraction
            .parse()
            .ok()
            .filter(|fraction| Progress::check(*fraction).is_ok())
            .ok_or_else(|| damaged(PART, "its fraction is none"))?,
        at: time(PART, at)?,
        message: parts.next().map(str::to_owned),
    })
}

/// A fraction as it is stored: read back, it is the same number.
pub(crate) fn fraction(fraction: f64) -> String {
    fraction.to_string()
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;

    use super::*;

    #[test]
    fn progress_is_read_with_and_without_a_message() {
        for exact in [0.0, 1.0, 0.1 + 0.2, 1.0 / 3.0, f64::MIN_POSITIVE] {
            let text = format!("{}\t77", fraction(exact));
            let expected = Progress {
                fraction: exact,
                message: None,
                at: Timestamp::from_ms(77),
            };
            assert_eq!(read(text.as_bytes()).unwrap(), expected);
        }
        let message = |text: &str| read(text.as_bytes()).unwrap().message;
        assert_eq!(message("0.5\t77\t"), Some(String::new()));
        assert_eq!(
            message("0.5\t77\thalf\tway\n"),
            Some("half\tway\n".to_owned())
        );
    }

    #[test]
    fn damaged_progress_is_refused() {
        for bad in ["", "0.5", "0.5\t", "x\t77", "1.5\t77", "-1\t77", "NaN\t77"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
