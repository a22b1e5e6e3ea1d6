//! The handler of a runtime worker: follows the payload and records its effects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use windlass_worker::{AttemptContext, Outcome};

use crate::behaviour::{Behaviour, PANIC};
use crate::effect_log::{EffectKind, EffectWriter};
use crate::roles::event_log::EventLog;

/// Runs one attempt.
pub(super) async fn attempt(context: AttemptContext, effects: Arc<EffectWriter>) -> Outcome {
    let behaviour = match Behaviour::of(&context.job().payload) {
        Ok(behaviour) => behaviour,
        Err(why) => return Outcome::permanent(why),
    };
    let mut attempt = RecordedAttempt::start(context, effects);
    let mut result = None;
    match behaviour {
        Behaviour::Return => {}
        Behaviour::SleepOnce(_) if !attempt.is_first() => {}
        Behaviour::Sleep(time) | Behaviour::SleepOnce(time) => sleep(time).await,
        Behaviour::Block(time) => block(time),
        Behaviour::Spin(time) => {
            let began = Instant::now();
            while began.elapsed() < time {
                std::hint::spin_loop();
            }
        }
        Behaviour::Panic => panic!("{PANIC}"),
        Behaviour::Abort => std::process::abort(),
        Behaviour::Never => std::future::pending().await,
        Behaviour::UntilStopped => {
            let why = attempt.context.stopped().await;
            attempt.last(EffectKind::Stop);
            return Outcome::failed(why.as_str());
        }
        Behaviour::ReturnBytes(bytes) => result = Some(vec![b'x'; bytes].into()),
    }
    attempt.last(EffectKind::End);
    Outcome::Done(result)
}

#[expect(
    clippy::disallowed_methods,
    reason = "blocking the thread is the purpose"
)]
fn block(time: Duration) {
    std::thread::sleep(time);
}

/// A running attempt; if it is dropped before its last record, that is recorded too.
struct RecordedAttempt {
    context: AttemptContext,
    effects: Arc<EffectWriter>,
    is_over: bool,
}

impl RecordedAttempt {
    fn start(context: AttemptContext, effects: Arc<EffectWriter>) -> Self {
        let attempt = Self {
            context,
            effects,
            is_over: false,
        };
        attempt.write(EffectKind::Start);
        attempt
    }

    /// Whether this is the first start of the job.
    fn is_first(&self) -> bool {
        let starts = self.effects.starts_of(&self.context.job().id);
        starts.expect("read the effect log") == 1
    }

    fn last(&mut self, kind: EffectKind) {
        self.write(kind);
        self.is_over = true;
    }

    fn write(&self, kind: EffectKind) {
        let context = &self.context;
        let id = &context.job().id;
        let written = self
            .effects
            .write(id, context.token(), context.attempt(), kind);
        written.expect("write the effect log");
    }
}

impl Drop for RecordedAttempt {
    fn drop(&mut self) {
        if !self.is_over {
            self.write(EffectKind::Drop);
        }
    }
}

/// Reports a panic that no payload asked for as a violation.
pub(super) fn report_panics(events: &EventLog) {
    let events = events.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let is_expected = panic.payload_as_str() == Some(PANIC);
        if !is_expected {
            events.violation(format!("{panic}"));
        }
    }));
}
