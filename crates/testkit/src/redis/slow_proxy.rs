//! A slow link to a server: a proxy that forwards at a limited rate, which all its connections share.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::framing::{Front, Stream};
use super::server::Server;

/// Bytes forwarded at once.
const CHUNK: usize = 16 * 1024;

/// The receive buffer of a connection: small, so that a sender that is ahead must wait.
const BUFFER: usize = 64 * 1024;

/// A slow link on a free port. Dropping it ends it; open connections last as long as their ends.
#[derive(Debug)]
pub struct SlowProxy(Front);

impl SlowProxy {
    /// Listens on a port of 127.0.0.1 and forwards to `server`, at this rate in each direction.
    pub fn before(server: &Server, bytes_per_second: u32) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("listen on 127.0.0.1");
        set_socket_recv_buffer_size(&listener, BUFFER).expect("a listener has a buffer");
        let requests = Arc::new(Direction::new(bytes_per_second));
        let replies = Arc::new(Direction::new(bytes_per_second));
        Self(Front::of(server, listener, move |client, server| {
            let (to_server, to_client) = (server.try_clone()?, client.try_clone()?);
            let (requests, replies) = (Arc::clone(&requests), Arc::clone(&replies));
            thread::spawn(move || requests.forward(&client, &to_server));
            thread::spawn(move || replies.forward(&server, &to_client));
            Ok(())
        }))
    }

    /// The URL of this proxy.
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// The port of this proxy on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.0.port
    }
}

/// One direction of the link.
struct Direction {
    bytes_per_second: u32,
    /// When everything sent before is through.
    free_at: Mutex<Instant>,
}

impl Direction {
    fn new(bytes_per_second: u32) -> Self {
        Self {
            bytes_per_second,
            free_at: Mutex::new(Instant::now()),
        }
    }

    /// Waits until this many more bytes are through.
    #[expect(
        clippy::disallowed_methods,
        reason = "each direction of a connection has its own thread"
    )]
    fn pass(&self, bytes: usize) {
        // A chunk has far fewer bytes than a u32 holds.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let takes =
            Duration::from_secs(1).mul_f64(f64::from(bytes) / f64::from(self.bytes_per_second));
        let through_at = {
            let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            *free_at = (*free_at).max(Instant::now()) + takes;
            *free_at
        };
        thread::sleep(through_at.saturating_duration_since(Instant::now()));
    }

    /// Forwards until either end closes, then closes both.
    fn forward(&self, from: &Stream, to: &Stream) {
        let _ = self.copy(from, to);
        // They may be closed already.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }

    fn copy(&self, mut from: &Stream, mut to: &Stream) -> io::Result<()> {
        let mut bytes = vec![0; CHUNK];
        loop {
            let count = from.read(&mut bytes)?;
            if count == 0 {
                return Ok(());
            }
            self.pass(count);
            to.write_all(&bytes[..count])?;
        }
    }
}
