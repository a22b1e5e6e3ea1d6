//! Sample jobs for the tests of this crate.

use std::sync::Arc;

use windlass_core::store::{ClaimedJob, GroupName, Headers, Kind};
use windlass_core::{JobId, Priority, QueueName, RetryPolicy, SystemClock, Timestamp, Token};
use windlass_store_memory::MemoryStore;
use windlass_worker::AttemptContext;

use crate::log::LogSink;

pub(crate) fn job(payload: &[u8]) -> ClaimedJob {
    ClaimedJob {
        id: JobId::new("job-1").unwrap(),
        kind: Some(Kind::new("letter").unwrap()),
        payload: payload.to_vec().into(),
        headers: Headers::default(),
        group: Some(GroupName::new("acme").unwrap()),
        priority: Priority::default(),
        attempt: 1,
        expiries: 0,
        retry: RetryPolicy::default(),
        timeout: None,
        created_at: Timestamp::from_ms(0),
        due_at: Timestamp::from_ms(0),
    }
}

pub(crate) fn context(payload: &[u8]) -> AttemptContext {
    context_of(job(payload))
}

pub(crate) fn context_of(job: ClaimedJob) -> AttemptContext {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let token = Token {
        number: 7,
        nonce: 0xbeef,
    };
    AttemptContext::detached(store, QueueName::new("mail").unwrap(), job, token)
}

/// Discards all lines.
pub(crate) fn log_sink() -> LogSink {
    Arc::new(|_| {})
}
