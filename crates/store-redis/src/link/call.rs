//! One call of a script: the script, the keys it may touch and its arguments.

use bytes::Bytes;
use redis::Cmd;

use crate::script::Script;

/// One call of a script.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The script.
    pub(crate) script: &'static Script,
    /// Every key it may touch, all of one slot.
    pub(crate) keys: Vec<Bytes>,
    /// What it is told.
    pub(crate) args: Vec<Bytes>,
}

impl Call {
    /// The call for a server that knows the script.
    pub(crate) fn by_sha(&self) -> Cmd {
        self.command("EVALSHA", &self.script.sha)
    }

    /// The call for any server, which knows the script from then on.
    pub(crate) fn by_text(&self) -> Cmd {
        self.command("EVAL", &self.script.source)
    }

    fn command(&self, verb: &str, script: &str) -> Cmd {
        let bytes: usize = self.keys.iter().chain(&self.args).map(Bytes::len).sum();
        let count = self.keys.len() + self.args.len() + 3;
        let mut cmd = Cmd::with_capacity(count, bytes + script.len() + 32);
        cmd.arg(verb).arg(script).arg(self.keys.len());
        for part in self.keys.iter().chain(&self.args) {
            cmd.arg(part.as_ref());
        }
        cmd
    }
}
