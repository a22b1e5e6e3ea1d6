//! What is sent to a server: commands, encoded into the buffer of a connection.

use redis::{Cmd, Pipeline};

use super::call::Call;

/// One or more commands.
pub(crate) trait Request: Send + Sync {
    /// Appends the commands.
    fn write(&self, out: &mut Vec<u8>);

    /// The number of commands, which is the number of replies.
    fn replies(&self) -> usize {
        1
    }
}

impl Request for Cmd {
    fn write(&self, out: &mut Vec<u8>) {
        self.write_packed_command(out);
    }
}

impl Request for Pipeline {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.get_packed_pipeline());
    }

    fn replies(&self) -> usize {
        self.len()
    }
}

/// Runs a script by its SHA.
impl Request for Call {
    fn write(&self, out: &mut Vec<u8>) {
        write_script(self, b"EVALSHA", &self.script.sha, out);
    }
}

/// Runs a script by its source, which also loads it into the server's cache.
pub(crate) struct BySource<'a>(pub(crate) &'a Call);

impl Request for BySource<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        write_script(self.0, b"EVAL", &self.0.script.source, out);
    }
}

/// Precedes a command on a slot that is being migrated.
pub(crate) struct Asking;

impl Request for Asking {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(b"*1\r\n$6\r\nASKING\r\n");
    }
}

fn write_script(call: &Call, verb: &[u8], script: &str, out: &mut Vec<u8>) {
    // A header of an argument with up to six digits, and two line ends.
    const HEADER: usize = 11;
    let (keys, args) = (&call.keys, &call.args);
    let parts = keys.iter().chain(args);
    let bytes: usize = parts.clone().map(|part| part.len() + HEADER).sum();
    out.reserve(bytes + verb.len() + script.len() + 4 * HEADER);
    write_line(b'*', 3 + keys.len() + args.len(), out);
    write_arg(verb, out);
    write_arg(script.as_bytes(), out);
    let mut digits = [0; DIGITS];
    write_arg(decimal(keys.len(), &mut digits), out);
    parts.for_each(|part| write_arg(part, out));
}

fn write_arg(arg: &[u8], out: &mut Vec<u8>) {
    write_line(b'$', arg.len(), out);
    out.extend_from_slice(arg);
    out.extend_from_slice(b"\r\n");
}

fn write_line(kind: u8, number: usize, out: &mut Vec<u8>) {
    let mut digits = [0; DIGITS];
    out.push(kind);
    out.extend_from_slice(decimal(number, &mut digits));
    out.extend_from_slice(b"\r\n");
}

/// The digits of the largest number.
const DIGITS: usize = 20;

fn decimal(mut number: usize, digits: &mut [u8; DIGITS]) -> &[u8] {
    let mut at = DIGITS;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::script::Script;

    #[test]
    fn a_script_call_is_encoded_as_the_client_library_does() {
        let script: &'static Script = Box::leak(Box::new(Script::new("", "return 1")));
        let args = [&b""[..], b"0", b"\r\n$1\r\n", &[b'x'; 1234]];
        let call = Call {
            script,
            keys: vec![Bytes::from_static(b"{q}:a"), Bytes::from_static(b"{q}:b")],
            args: args.map(Bytes::copy_from_slice).to_vec(),
        };
        for (request, verb, text) in [
            (&call as &dyn Request, "EVALSHA", &script.sha),
            (&BySource(&call), "EVAL", &script.source),
        ] {
            let mut expected = redis::cmd(verb);
            expected.arg(text).arg(2).arg(b"{q}:a").arg(b"{q}:b");
            for arg in args {
                expected.arg(arg);
            }
            let mut out = b"before".to_vec();
            request.write(&mut out);
            assert_eq!(out[b"before".len()..], expected.get_packed_command());
        }
    }

    #[test]
    fn numbers_are_written_in_full() {
        for number in [0, 9, 10, 12_345, usize::MAX] {
            let mut digits = [0; DIGITS];
            assert_eq!(decimal(number, &mut digits), number.to_string().as_bytes());
        }
    }
}
