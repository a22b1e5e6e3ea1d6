//! Turns a panic of a handler into a failure.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use crate::context::AttemptContext;
use crate::handle::AttemptFuture;
use crate::outcome::Outcome;

/// Runs an attempt to its end. A panic is counted and becomes a failure. Called by the runtime, and by code
/// within an attempt that must see how its handler ended, such as middleware.
pub async fn run_handler(
    context: &AttemptContext,
    start: impl FnOnce() -> AttemptFuture,
) -> Outcome {
    catch_panic(start).await.unwrap_or_else(|panic| {
        context.0.origin.metrics.panics.increment(1);
        Outcome::failed(format!("the handler panicked: {panic}"))
    })
}

/// Runs an attempt to its end; returns the message if it panics. Nothing of the attempt is used after
/// a panic, so no inconsistent state can be observed.
async fn catch_panic(start: impl FnOnce() -> AttemptFuture) -> Result<Outcome, String> {
    let mut attempt = match catch_unwind(AssertUnwindSafe(start)) {
        Ok(attempt) => Some(attempt),
        Err(panic) => return Err(panic_message(panic.as_ref())),
    };
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = attempt
                .as_mut()
                .map_or(Poll::Pending, |attempt| attempt.as_mut().poll(cx));
            if polled.is_ready() {
                // Inside `catch_unwind`: dropping the handler's state may panic.
                drop(attempt.take());
            }
            polled
        }));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => {
                let rest = attempt.take();
                // The first panic is reported; a second one is ignored.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Err(panic_message(panic.as_ref())))
            }
        }
    })
    .await
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "(panic payload is not a string)".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use metrics::Counter;
    use windlass_core::{ClaimRequest, NewJob, QueueName, Store, SystemClock};
    use windlass_store_memory::MemoryStore;

    use super::*;
    use crate::boot_time::BootTime;
    use crate::run::attempt::{Attempt, LocalExpiry, Origin};

    struct PanicOnDrop;

    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    async fn outcome_of<F>(future: F) -> Result<Outcome, String>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        catch_panic(move || Box::pin(future)).await
    }

    #[tokio::test]
    async fn a_panic_is_caught_and_its_message_returned() {
        let in_text = outcome_of(async { panic!("no {}", 7) }).await;
        let in_start = catch_panic(|| panic!("at once")).await;
        let in_number = outcome_of(async { std::panic::panic_any(7) }).await;
        let late = outcome_of(async {
            tokio::task::yield_now().await;
            panic!("late")
        })
        .await;

        assert_eq!(in_text.unwrap_err(), "no 7");
        assert_eq!(in_start.unwrap_err(), "at once");
        assert_eq!(in_number.unwrap_err(), "(panic payload is not a string)");
        assert_eq!(late.unwrap_err(), "late");
    }

    #[tokio::test]
    async fn a_panic_in_a_drop_is_a_panic_of_the_attempt() {
        let kept = Arc::new(PanicOnDrop);
        let in_drop = outcome_of(async move {
            let _kept = kept;
            Outcome::done()
        })
        .await;

        assert_eq!(in_drop.unwrap_err(), "in drop");
    }

    #[tokio::test]
    async fn a_panic_is_counted_and_becomes_a_failure() {
        let (store, queue) = (
            MemoryStore::new(Arc::new(SystemClock)),
            QueueName::new("mail").unwrap(),
        );
        store.enqueue(&queue, vec![NewJob::new("")]).await.unwrap();
        let claim = store
            .claim(&queue, ClaimRequest::single(1))
            .await
            .unwrap()
            .unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let mut origin = Origin::new(Arc::new(store), queue);
        origin.metrics.panics = Counter::from_arc(Arc::clone(&count));
        let expiry = Arc::new(LocalExpiry::at(BootTime::NEVER));
        let (job, position) = (claim.jobs[0].clone(), (claim.token, 0));
        let attempt = Attempt::new(Arc::new(origin), job, position, expiry, None);
        let context = AttemptContext(Arc::new(attempt));

        let failed = run_handler(&context, || Box::pin(async { panic!("no ink") })).await;
        let done = run_handler(&context, || Box::pin(async { Outcome::done() })).await;

        assert_eq!(failed, Outcome::failed("the handler panicked: no ink"));
        assert_eq!(done, Outcome::done());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
