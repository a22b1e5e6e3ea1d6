//! The handler of a hand: does as the payload says, and is seen doing it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use windlass_worker::{AttemptContext, Outcome};

use crate::behaviour::{Behaviour, PANIC};
use crate::roles::voice::Voice;
use crate::witness::{Pen, Sight};

/// Runs one attempt.
pub(super) async fn attempt(context: AttemptContext, pen: Arc<Pen>) -> Outcome {
    let payload = String::from_utf8_lossy(&context.job().payload).into_owned();
    let behaviour = match payload.parse::<Behaviour>() {
        Ok(behaviour) => behaviour,
        Err(why) => return Outcome::permanent(why),
    };
    let mut effect = Effect::start(context, pen);
    let mut result = None;
    match behaviour {
        Behaviour::Plain => {}
        Behaviour::SleepOnce(_) if !effect.is_first() => {}
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
        Behaviour::Listen => {
            let why = effect.context.stopped().await;
            effect.last(Sight::Stop);
            return Outcome::failed(why.as_str());
        }
        Behaviour::Leave(bytes) => result = Some(vec![b'x'; bytes].into()),
    }
    effect.last(Sight::End);
    Outcome::Done(result)
}

#[expect(
    clippy::disallowed_methods,
    reason = "to block the thread is what is asked for"
)]
fn block(time: Duration) {
    std::thread::sleep(time);
}

/// An attempt under way; when it is dropped before its last word, the witness sees that too.
struct Effect {
    context: AttemptContext,
    pen: Arc<Pen>,
    is_over: bool,
}

impl Effect {
    fn start(context: AttemptContext, pen: Arc<Pen>) -> Self {
        let effect = Self {
            context,
            pen,
            is_over: false,
        };
        effect.write(Sight::Start);
        effect
    }

    /// Whether nobody began the job before.
    fn is_first(&self) -> bool {
        let starts = self.pen.starts_of(&self.context.job().id);
        starts.expect("the witness can be read") == 1
    }

    fn last(&mut self, sight: Sight) {
        self.write(sight);
        self.is_over = true;
    }

    fn write(&self, sight: Sight) {
        let context = &self.context;
        let id = &context.job().id;
        let written = self
            .pen
            .write(id, context.token(), context.attempt(), sight);
        written.expect("the witness can be written");
    }
}

impl Drop for Effect {
    fn drop(&mut self) {
        if !self.is_over {
            self.write(Sight::Drop);
        }
    }
}

/// A panic that no payload asked for is a fault, wherever it is.
pub(super) fn confess_panics(voice: &Voice) {
    let voice = voice.clone();
    std::panic::set_hook(Box::new(move |panic| {
        let is_meant = panic.payload_as_str() == Some(PANIC);
        if !is_meant {
            voice.fault(format!("{panic}"));
        }
    }));
}
