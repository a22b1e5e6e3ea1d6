//! Runs one task and reports its outcome.

use crate::blueque::{BluequeProcessor, ListenerHeartbeat, Task};
use windlass::{Bytes, ErrorKind};
use windlass_exec::ProgramExit;

use super::Runner;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskOutcome {
    Complete,
    Failed,
    /// Interrupted, or held by another listener by now.
    Lost,
}

impl Runner {
    pub(super) async fn run_task(
        &self,
        task: &Task,
        heartbeat: &mut ListenerHeartbeat,
    ) -> TaskOutcome {
        let Ok(mut processor) = self.blueque.processor(task) else {
            return TaskOutcome::Lost;
        };
        // Before the program starts, so that it does not run a task that another listener may hold.
        if let Err(error) = processor.start(std::process::id()).await {
            (self.talk)(&error.to_string());
            return TaskOutcome::Lost;
        }
        let variables = [
            ("WINDLASS_TASK_ID", task.id.as_str()),
            ("WINDLASS_QUEUE", task.queue.as_deref().unwrap_or_default()),
        ];
        let input = task.parameters.clone().unwrap_or_default();
        let program = match self.starter.start(&self.command, &variables, input).await {
            Ok(program) => program,
            Err(error) => {
                let error = format!("cannot start the program: {error}");
                return self.finish(&mut processor, heartbeat, Err(error)).await;
            }
        };
        // Records the program's pid for operators; the task is already started.
        if let Err(error) = processor.start(program.id()).await {
            (self.talk)(&error.to_string());
            if error.kind() == ErrorKind::Conflict {
                return TaskOutcome::Lost;
            }
        }
        let stop = async {
            tokio::select! {
                () = heartbeat.lost() => {}
                () = self.stop_requested() => tokio::time::sleep(self.grace).await,
            }
        };
        let result = match program.wait(stop, self.kill_after).await {
            ProgramExit::Succeeded(output) => Ok(output),
            ProgramExit::Failed(why) => Err(why),
            ProgramExit::Stopped => return TaskOutcome::Lost,
        };
        self.finish(&mut processor, heartbeat, result).await
    }

    /// Reports the outcome, retrying until it succeeds or the task is lost.
    async fn finish(
        &self,
        processor: &mut BluequeProcessor,
        heartbeat: &mut ListenerHeartbeat,
        result: Result<Bytes, String>,
    ) -> TaskOutcome {
        let outcome = if result.is_ok() {
            TaskOutcome::Complete
        } else {
            TaskOutcome::Failed
        };
        loop {
            let reported = match result.clone() {
                Ok(output) => processor.complete(output).await,
                Err(error) => processor.fail(error).await,
            };
            match reported {
                Ok(()) => return outcome,
                Err(error) if error.is_transient() => {
                    tokio::select! {
                        () = heartbeat.lost() => return TaskOutcome::Lost,
                        () = self.log_and_wait(&error) => {}
                    }
                    if self.is_stopped() {
                        return TaskOutcome::Lost;
                    }
                }
                Err(error) => {
                    (self.talk)(&error.to_string());
                    return TaskOutcome::Lost;
                }
            }
        }
    }
}
