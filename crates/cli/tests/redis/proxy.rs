//! A proxy between a command and its server that adds latency or changes the clock.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use windlass_testkit::redis::Server;

/// Start of the reply to `TIME`: two strings, the first of ten digits.
const TIME: &[u8] = b"*2\r\n$10\r\n";

/// Changes applied to every reply.
#[derive(Clone, Copy, Default)]
pub(crate) struct Proxy {
    /// Added latency.
    pub(crate) delay: Duration,
    /// Seconds added to the server's clock.
    pub(crate) ahead: u64,
}

impl Proxy {
    /// Starts a proxy for a server on TCP and returns its URL. It runs until the test ends.
    pub(crate) fn start(self, server: &Server) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/0", listener.local_addr().unwrap());
        let port = server.port();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let (requests, target) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || forward(requests, target, |_| {}));
                std::thread::spawn(move || forward(server, client, |reply| self.change(reply)));
            }
        });
        url
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "latency is what is tested; no assertion depends on it"
    )]
    fn change(self, reply: &mut [u8]) {
        std::thread::sleep(self.delay);
        if reply.starts_with(TIME) {
            let digits = TIME.len()..TIME.len() + 10;
            let seconds: u64 = str::from_utf8(&reply[digits.clone()])
                .unwrap()
                .parse()
                .unwrap();
            let ahead = format!("{:010}", seconds + self.ahead);
            reply[digits].copy_from_slice(ahead.as_bytes());
        }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut [u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        change(&mut buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
    // The other end may be closed already.
    let _ = to.shutdown(std::net::Shutdown::Both);
}
