//! Something between a command and its server: a long way, or a clock that is wrong.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use windlass_testkit::redis::Server;

/// How the reply of `TIME` begins: two texts, the first of ten digits.
const TIME: &[u8] = b"*2\r\n$10\r\n";

/// What is done to every reply.
#[derive(Clone, Copy, Default)]
pub(crate) struct Between {
    /// How much later it arrives.
    pub(crate) delay: Duration,
    /// How many seconds the server's clock is ahead.
    pub(crate) ahead: u64,
}

impl Between {
    /// Stands before a server that listens on a port; answers the URL of the store there. It ends
    /// with the test.
    pub(crate) fn start(self, server: &Server) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}/0", listener.local_addr().unwrap());
        let to = server.port();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let (asks, takes) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(asks, takes, |_| {}));
                std::thread::spawn(move || pass(server, client, |reply| self.change(reply)));
            }
        });
        url
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a long way is what is tested; nothing waits for it to pass"
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

fn pass(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut [u8])) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        change(&mut buffer[..length]);
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
    // Whoever is gone already hears nothing.
    let _ = to.shutdown(std::net::Shutdown::Both);
}
