//! A panic of a handler, caught where hooks can still see what became of it.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use windlass_worker::{AttemptFuture, Outcome};

/// An attempt whose panic is a failure.
pub(crate) struct Caught(pub(crate) AttemptFuture);

impl Future for Caught {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, waker: &mut Context<'_>) -> Poll<Outcome> {
        let attempt = self.0.as_mut();
        // What the handler shared with others may be half changed: so it is with any failure.
        match catch_unwind(AssertUnwindSafe(|| attempt.poll(waker))) {
            Ok(poll) => poll,
            Err(panic) => Poll::Ready(Outcome::failed(text(panic.as_ref()))),
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match said {
        Some(said) => format!("the handler panicked: {said}"),
        None => "the handler panicked".to_owned(),
    }
}
