//! The progress of a running job.

use windlass_core::Result;
use windlass_core::store::{Fraction, Progress};

use super::{damaged, text, time};

const KIND: &str = "progress";

/// Decodes progress. Without a message there is no second tab.
pub(crate) fn read(bytes: &[u8]) -> Result<Progress> {
    let mut fields = text(KIND, bytes)?.splitn(3, '\t');
    let fraction = fields.next().unwrap_or_default();
    let at = fields.next().unwrap_or_default();
    Ok(Progress {
        fraction: fraction
            .parse()
            .ok()
            .and_then(|fraction| Fraction::new(fraction).ok())
            .ok_or_else(|| damaged(KIND, "invalid fraction"))?,
        at: time(KIND, at)?,
        message: fields.next().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use windlass_core::Timestamp;

    use super::*;

    #[test]
    fn progress_is_read_with_and_without_a_message() {
        for exact in [0.0, 1.0, 0.1 + 0.2, 1.0 / 3.0, f64::MIN_POSITIVE] {
            let text = format!("{exact}\t77");
            let expected = Progress {
                fraction: Fraction::new(exact).unwrap(),
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
    fn damaged_progress_is_rejected() {
        for bad in ["", "0.5", "0.5\t", "x\t77", "1.5\t77", "-1\t77", "NaN\t77"] {
            assert!(read(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
