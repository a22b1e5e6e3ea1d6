//! One task: started, its process seen to its end, and its end written down.

use windlass::{Bytes, ErrorKind, Limits};
use windlass_interop::blueque::{Heartbeat, Processor, Task};

use super::Runner;
use super::process::{Ended, Process};
use super::starter::guarded;

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
        let mut command = guarded(&self.command);
        self.environment.give(&mut command, task);
        let input = task.parameters.clone().unwrap_or_default();
        let talk = self.talk.clone();
        let process = match Process::start(&self.starter, command, input, talk).await {
            Ok(process) => process,
            Err(error) => {
                let error = format!("the program cannot be started: {error}");
                return self.finish(&mut processor, heartbeat, Err(error)).await;
            }
        };
        // For people who look for it; that it runs is known already.
        if let Err(error) = processor.start(process.id()).await {
            (self.talk)(&error.to_string());
            if error.kind() == ErrorKind::Conflict {
                return Outcome::Lost;
            }
        }
        let mut is_cut_short = false;
        let stop = async {
            tokio::select! {
                () = heartbeat.lost() => {}
                () = self.stop() => tokio::time::sleep(self.grace).await,
            }
            is_cut_short = true;
        };
        let ended = process.see_it_end(stop, self.kill_after).await;
        if is_cut_short {
            return Outcome::Lost;
        }
        let result = match ended {
            Ok(ended) => judge(ended),
            Err(error) => Err(format!("the end of the program was not seen: {error}")),
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

/// The result, or why the task failed.
fn judge(ended: Ended) -> Result<Bytes, String> {
    if !ended.is_success {
        let mut error = ended.how;
        for line in &ended.last_lines {
            error.push('\n');
            error.push_str(line);
        }
        return Err(error);
    }
    ended.output.map_err(|bytes| {
        let limit = Limits::default().payload_bytes_max;
        format!(
            "the result is too large: the program wrote {bytes} bytes, the limit is {limit}; \
            keep large data elsewhere and print a reference"
        )
    })
}
