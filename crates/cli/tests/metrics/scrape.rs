//! A worker that serves metrics, and the client that reads them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;

/// Longer than any wait here takes; reaching it is a failure.
const TIMEOUT: Duration = Duration::from_secs(240);

/// A worker with `--metrics`. Killed when dropped.
pub(crate) struct ScrapedWorker {
    child: Child,
    pub(crate) address: String,
}

impl Drop for ScrapedWorker {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ScrapedWorker {
    /// Starts a command line that has `--metrics` with a free port.
    pub(crate) fn start(sandbox: &Sandbox, line: &str) -> Self {
        let mut child = sandbox.start(line);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "no URL: {said}");
            said += &line;
            let url = line.split("metrics: http://").nth(1);
            if let Some(url) = url {
                break url.trim().strip_suffix("/metrics").unwrap().to_owned();
            }
        };
        // Read to the end, so that the worker never waits for room in the pipe.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, address }
    }

    pub(crate) fn scrape(&self) -> Samples {
        Samples(http(&self.address, "GET /metrics", ""))
    }

    /// Sends SIGTERM and waits for the exit.
    pub(crate) fn terminate(mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        assert!(self.child.wait().unwrap().success());
    }
}

/// Sends a request and returns the body of the response.
pub(crate) fn http(address: &str, request: &str, body: &str) -> String {
    try_http(address, request, body).unwrap()
}

/// Sends a request and returns the body of the response, or the response if its status is not 200.
pub(crate) fn try_http(address: &str, request: &str, body: &str) -> Result<String, String> {
    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // With HTTP/1.0 the end of the connection is the end of the response.
    let head = format!(
        "{request} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let is_ok = head.split(' ').nth(1) == Some("200");
    is_ok.then(|| body.to_owned()).ok_or(response)
}

/// Repeats until there is a value.
#[expect(
    clippy::disallowed_methods,
    reason = "another process, which can only be asked"
)]
pub(crate) fn wait_for<T>(what: &str, mut read: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(value) = read() {
            return value;
        }
        assert!(started.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The text of `/metrics`.
pub(crate) struct Samples(pub(crate) String);

impl Samples {
    /// The sum of all series of this name whose labels contain `labels`.
    pub(crate) fn sum(&self, name: &str, labels: &[&str]) -> u64 {
        let series = self.0.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let (found, value) = rest.rsplit_once(' ')?;
            let is_same = found.is_empty() || found.starts_with('{');
            let has = |label: &&str| found.contains(*label);
            (is_same && labels.iter().all(has)).then(|| value.parse::<u64>().unwrap())
        });
        series.sum()
    }
}
