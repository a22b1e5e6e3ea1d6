//! Keeps a panic inside its attempt.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use crate::handle::Attempt;
use crate::outcome::Outcome;

/// Runs an attempt to its end; what it panicked with, where it did. Nothing of the attempt is used
/// again after a panic, so nothing half-done can be seen.
pub(crate) async fn guarded(start: impl FnOnce() -> Attempt) -> Result<Outcome, String> {
    let mut attempt = match catch_unwind(AssertUnwindSafe(start)) {
        Ok(attempt) => Some(attempt),
        Err(panic) => return Err(said(panic.as_ref())),
    };
    poll_fn(|cx| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let polled = attempt
                .as_mut()
                .map_or(Poll::Pending, |attempt| attempt.as_mut().poll(cx));
            if polled.is_ready() {
                // Within the guard: what the handler leaves behind may panic when it is dropped.
                drop(attempt.take());
            }
            polled
        }));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => {
                let rest = attempt.take();
                // One panic is told already.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(rest)));
                Poll::Ready(Err(said(panic.as_ref())))
            }
        }
    })
    .await
}

fn said(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "something that is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Grenade;

    impl Drop for Grenade {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    async fn outcome_of<F>(future: F) -> Result<Outcome, String>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        guarded(move || Box::pin(future)).await
    }

    #[tokio::test]
    async fn a_panic_is_told_and_kept_inside() {
        let in_text = outcome_of(async { panic!("no {}", 7) }).await;
        let in_start = guarded(|| panic!("at once")).await;
        let in_number = outcome_of(async { std::panic::panic_any(7) }).await;
        let late = outcome_of(async {
            tokio::task::yield_now().await;
            panic!("late")
        })
        .await;

        assert_eq!(in_text.unwrap_err(), "no 7");
        assert_eq!(in_start.unwrap_err(), "at once");
        assert_eq!(in_number.unwrap_err(), "something that is no text");
        assert_eq!(late.unwrap_err(), "late");
    }

    #[tokio::test]
    async fn a_panic_in_a_drop_is_a_panic_of_the_attempt() {
        let kept = std::sync::Arc::new(Grenade);
        let in_drop = outcome_of(async move {
            let _kept = kept;
            Outcome::done()
        })
        .await;

        assert_eq!(in_drop.unwrap_err(), "in drop");
    }
}
