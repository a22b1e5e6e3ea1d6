//! Decodes the groups of errors.

use windlass_core::error_group::HourCounts;
use windlass_core::store::{ErrorGroup, Kind};
use windlass_core::{Result, Timestamp};

use super::{damaged, job_id, number, text, time};

const VALUE: &str = "error group";

/// Decodes a group: its name is `KIND TAB MESSAGE`, its record `COUNT TAB FIRST TAB LAST TAB HOURS TAB JOB LF EXAMPLE`.
pub(crate) fn read(name: &[u8], record: &[u8], now: Timestamp) -> Result<ErrorGroup> {
    let (name, record) = (text(VALUE, name)?, text(VALUE, record)?);
    let short = || damaged(VALUE, "missing field");
    let (kind, message) = name.split_once('\t').ok_or_else(short)?;
    let (head, example) = record.split_once('\n').ok_or_else(short)?;
    let fields: Vec<&str> = head.splitn(5, '\t').collect();
    let &[count, first, last, hours, job] = fields.as_slice() else {
        return Err(short());
    };
    let hours = HourCounts::from_text(hours).ok_or_else(|| damaged(VALUE, "invalid hours"))?;
    let kind = (!kind.is_empty()).then(|| Kind::new(kind)).transpose();
    Ok(ErrorGroup {
        kind: kind.map_err(|_| damaged(VALUE, "invalid kind"))?,
        message: message.to_owned(),
        example: example.to_owned(),
        last_job: job_id(VALUE, job.as_bytes())?,
        count: number(VALUE, count)?,
        first_seen: time(VALUE, first)?,
        last_seen: time(VALUE, last)?,
        hours: hours.last_day(now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_read_or_damaged() {
        let now = Timestamp::from_ms(3_600_000);
        let group = read(b"mail\tno #", b"3\t5\t7\t0:2 1:1\ta b\nno 7\nmore", now).unwrap();
        assert_eq!((group.message.as_str(), group.count), ("no #", 3));
        assert_eq!(group.example, "no 7\nmore");
        assert_eq!(group.hours[22..], [2, 1]);
        for record in [
            "",
            "3\t5\t7\t0:2\ta",
            "3\t5\t7\tx\ta\nno",
            "x\t5\t7\t\ta\nno",
            "3\t5\t7\t\t\nno",
        ] {
            assert!(read(b"\tno", record.as_bytes(), now).is_err(), "{record:?}");
        }
        assert!(read(b"no tab", b"3\t5\t7\t\ta\nno", now).is_err());
    }
}
