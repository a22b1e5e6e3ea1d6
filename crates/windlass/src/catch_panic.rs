//! Turns a panic of a handler into a failure that middleware can see.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use windlass_worker::{AttemptFuture, Outcome};

/// An attempt whose panic becomes a failure.
pub(crate) struct CatchPanic(pub(crate) AttemptFuture);

impl Future for CatchPanic {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Outcome> {
        let attempt = self.0.as_mut();
        // Shared state may be inconsistent after a panic, as after any failure.
        match catch_unwind(AssertUnwindSafe(|| attempt.poll(waker))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Outcome::failed(text(panic.as_ref()))),
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match message {
        Some(message) => format!("the handler panicked: {message}"),
        None => "the handler panicked".to_owned(),
    }
}
