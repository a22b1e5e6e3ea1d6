//! One script call: the script, its keys and its arguments.

use bytes::Bytes;

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
