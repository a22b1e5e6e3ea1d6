//! The history of a queue in a dump.

use windlass_core::history::HISTORY_MINUTES;
use windlass_core::store::{HistoryCounts, HistoryLevels, HistoryRow, Stats};
use windlass_core::{Result, Timestamp};

use super::source::{Ask, Hash, Source, number_in};
use crate::codec::history::read_rows;
use crate::codec::names::{FAILED_FIELD, HISTORY_FIELD};

pub(super) async fn read<A: Ask>(
    source: &Source<'_, A>,
    state: &Hash,
    stats: &Stats,
    now: Timestamp,
) -> Result<Vec<HistoryRow>> {
    let counts = HistoryCounts::new(&stats.total, number_in(state, FAILED_FIELD)?);
    let open = state.get(HISTORY_FIELD.as_bytes());
    read_rows(
        source.list("history").await?.iter().map(|row| &row[..]),
        open.map_or(&[][..], |open| open),
        (counts, HistoryLevels::from(stats)),
        (now, HISTORY_MINUTES),
    )
}
