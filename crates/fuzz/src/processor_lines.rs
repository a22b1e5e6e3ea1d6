//! Messages for the dispatcher of the Processor Job Queue, one per line.

use std::sync::Arc;

use windlass_interop::processor::{Identity, Log, Processor, ProcessorOptions};

use crate::fixture::{Fixture, LINES_MAX, block_on};

/// Handles the messages in `data`.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    block_on(async {
        let mut fixture = Fixture::new();
        let processor = processor(&fixture);
        for (number, line) in (1..).zip(text.lines().take(LINES_MAX)) {
            let line = fixture.next(line);
            for reply in processor.handle(number, &line).await {
                fixture.replied(&reply);
            }
        }
        fixture.assert_sound().await;
    });
}

fn processor(fixture: &Fixture) -> Processor {
    let mut options = ProcessorOptions::new(Identity {
        service_name: "job_queue".to_owned(),
        service_uuid: "processor-1".to_owned(),
        service_host: "here".to_owned(),
    });
    options.clock = fixture.clock.clone();
    let store = Arc::clone(&fixture.store);
    Processor::new(store, options, Log::silent()).expect("the options are valid")
}
