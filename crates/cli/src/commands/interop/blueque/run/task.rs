//! One task: started, its process seen to its end, and its end written down.

use windlass::{Bytes, ErrorKind};
use windlass_exec::ProgramExit;
use windlass_interop::blueque::{Heartbeat, Processor, Task};

use super::Runner;

/// What became of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Complete,
    Failed,
    /// It was cut short, or is somebody else's by now.
    Lost,
}

impl Runner {
    pub(super) async fn run_task(&self, task: &Task, heartbeat: &mut Heartbeat) -> Outcome {
        let Ok(mut processor) = self.blueque.processor(task) else {
            return Outcome::Lost;
        };
        // Before the program begins: nobody runs what somebody else may hold.
        if let Err(error) = processor.start(std::process::id()).await {
            (self.talk)(&error.to_string());
            return Outcome::Lost;
        }
        let variables = [
            ("WINDLASS_TASK_ID", task.id.as_str()),
            ("WINDLASS_QUEUE", task.queue.as_deref().unwrap_or_default()),
        ];
        let input = task.parameters.clone().unwrap_or_default();
        let program = match self.starter.start(&self.command, &variables, input).await {
            Ok(program) => program,
            Err(error) => {
                let error = format!("the program cannot be started: {error}");
                return self.finish(&mut processor, heartbeat, Err(error)).await;
            }
        };
        // For people who look for it; that it runs is known already.
        if let Err(error) = processor.start(program.id()).await {
            (self.talk)(&error.to_string());
            if error.kind() == ErrorKind::Conflict {
                return Outcome::Lost;
            }
        }
        let stop = async {
            tokio::select! {
                () = heartbeat.lost() => {}
                () = self.stop() => tokio::time::sleep(self.grace).await,
            }
        };
        let result = match program.wait(stop, self.kill_after).await {
            ProgramExit::Succeeded(output) => Ok(output),
            ProgramExit::Failed(why) => Err(why),
            ProgramExit::Stopped => return Outcome::Lost,
        };
        self.finish(&mut processor, heartbeat, result).await
    }

    /// Says so until it is heard, or until it no longer matters.
    async fn finish(
        &self,
        processor: &mut Processor,
        heartbeat: &mut Heartbeat,
        result: Result<Bytes, String>,
    ) -> Outcome {
        let outcome = if result.is_ok() {
            Outcome::Complete
        } else {
            Outcome::Failed
        };
        loop {
            let said = match result.clone() {
                Ok(output) => processor.complete(output).await,
                Err(error) => processor.fail(error).await,
            };
            match said {
                Ok(()) => return outcome,
                Err(error) if error.is_transient() => {
                    tokio::select! {
                        () = heartbeat.lost() => return Outcome::Lost,
                        () = self.pause(&error) => {}
                    }
                    if self.is_stopped() {
                        return Outcome::Lost;
                    }
                }
                Err(error) => {
                    (self.talk)(&error.to_string());
                    return Outcome::Lost;
                }
            }
        }
    }
}
