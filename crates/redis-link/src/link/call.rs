//! One script call: the script, its keys and its arguments.

use bytes::Bytes;
use redis::Cmd;

use crate::script::Script;

/// One script call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The script.
    pub script: &'static Script,
    /// Every key the script may access; all in one hash slot.
    pub keys: Vec<Bytes>,
    /// Its arguments.
    pub args: Vec<Bytes>,
}

impl Call {
    pub(crate) fn by_sha(&self) -> Cmd {
        self.command("EVALSHA", &self.script.sha)
    }

    /// Returns the EVAL command, which also loads the script into the server's cache.
    pub(crate) fn by_source(&self) -> Cmd {
        self.command("EVAL", &self.script.source)
    }

    fn command(&self, verb: &str, script: &str) -> Cmd {
        let bytes: usize = self.keys.iter().chain(&self.args).map(Bytes::len).sum();
        let count = self.keys.len() + self.args.len() + 3;
        let mut cmd = Cmd::with_capacity(count, bytes + script.len() + 32);
        cmd.arg(verb).arg(script).arg(self.keys.len());
        for argument in self.keys.iter().chain(&self.args) {
            cmd.arg(argument.as_ref());
        }
        cmd
    }
}
