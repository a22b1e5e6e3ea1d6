//! A pseudo-terminal of 80 columns for the program to run on.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::sandbox::Sandbox;

/// Runs a command line on a terminal on which `input` is typed. Returns the exit code and what the terminal
/// shows, including the input.
pub(crate) fn run_on_terminal(sandbox: &Sandbox, line: &str, input: &str) -> (Option<i32>, String) {
    let host = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&host).unwrap();
    unlockpt(&host).unwrap();
    let name = ptsname(&host, Vec::new()).unwrap();
    let terminal = open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    let mut host = File::from(host);
    // The terminal keeps it until the program reads.
    host.write_all(input.as_bytes()).unwrap();

    let words: Vec<_> = line.split_whitespace().collect();
    let mut command = sandbox.command(&words);
    command
        .env("NO_COLOR", "1")
        .stdin(Stdio::from(terminal.try_clone().unwrap()))
        .stdout(Stdio::from(terminal.try_clone().unwrap()))
        .stderr(Stdio::from(terminal));
    let mut child = command.spawn().unwrap();
    // Closes this process's ends of the terminal.
    drop(command);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // Reading fails when the program has closed its end.
    while let Ok(count @ 1..) = host.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    let code = child.wait().unwrap().code();
    let text = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    (code, text)
}
