//! Turns a panic of a handler into an error.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use crate::handle::AttemptFuture;
use crate::outcome::Outcome;

/// Runs an attempt to its end; returns the message if it panics. Nothing of the attempt is used after
/// a panic, so no inconsistent state can be observed.
pub(crate) async fn catch_panic(start: impl FnOnce() -> AttemptFuture) -> Result<Outcome, String> {
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
    use super::*;

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
        let kept = std::sync::Arc::new(PanicOnDrop);
        let in_drop = outcome_of(async move {
            let _kept = kept;
            Outcome::done()
        })
        .await;

        assert_eq!(in_drop.unwrap_err(), "in drop");
    }
}
