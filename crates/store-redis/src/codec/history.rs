//! The history: the minute that is not over, and the rows before it.

use windlass_core::history::{OpenMinute, first_minute, minute_of};
use windlass_core::store::{HistoryCounts, HistoryLevels, HistoryRow};
use windlass_core::{Result, Timestamp};

use super::{damaged, text};

/// The rows of the last minutes. Ignores an open minute that cannot be read: the next sample replaces it.
pub(crate) fn read_rows<'a>(
    rows: impl Iterator<Item = &'a [u8]>,
    open: &[u8],
    (counts, levels): (HistoryCounts, HistoryLevels),
    (now, minutes): (Timestamp, u32),
) -> Result<Vec<HistoryRow>> {
    let row = |row: &[u8]| {
        HistoryRow::read(text("history", row)?).ok_or_else(|| damaged("history", "not a row"))
    };
    let mut rows = rows.map(row).collect::<Result<Vec<_>>>()?;
    let open = OpenMinute::read(&String::from_utf8_lossy(open));
    rows.extend(open.map(|open| open.row(counts, levels)));
    let first = first_minute(now, minutes);
    rows.retain(|row| minute_of(row.minute) >= first);
    Ok(rows)
}
