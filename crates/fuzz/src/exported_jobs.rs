//! Lines of an export: a job that is accepted, stored and exported again is accepted unchanged.

use windlass_api::{EnqueueRequest, JobReply};
use windlass_core::{Enqueued, NewJob, QueueName, Store};

use crate::fixture::{Fixture, LINES_MAX, block_on};

/// Imports the lines in `data`, exports them, and imports the export.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let read = |line: &str| EnqueueRequest::from_json(line)?.into_job();
    let jobs: Vec<NewJob> = text.lines().take(LINES_MAX).flat_map(read).collect();
    block_on(async {
        let fixture = Fixture::new();
        let queue = QueueName::new("imported").expect("the name is valid");
        for job in jobs {
            // The limits of the store may still reject it.
            let Ok(replies) = fixture.store.enqueue(&queue, vec![job]).await else {
                continue;
            };
            let [Enqueued::Accepted { id, .. }] = replies.as_slice() else {
                continue;
            };
            let stored = fixture
                .store
                .get(&queue, id)
                .await
                .expect("the store answers");
            let Some(stored) = stored.filter(|job| !job.state.is_final()) else {
                continue;
            };
            let exported = serde_json::to_string(&JobReply::from(&stored)).expect("JSON");
            let again = read(&exported).unwrap_or_else(|error| panic!("{error}: {exported}"));
            assert_eq!(
                again.payload,
                stored.payload.unwrap_or_default(),
                "{exported}"
            );
            assert_eq!(again.headers, stored.headers, "{exported}");
        }
        fixture.assert_sound().await;
    });
}
