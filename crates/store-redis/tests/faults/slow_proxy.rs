//! A proxy between a store and its server that forwards slowly, in both directions.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_testkit::redis::Server;

/// Bytes forwarded at once.
const CHUNK: u32 = 64 * 1024;

/// A proxy on a free port; it stops when this value is dropped.
pub(crate) struct SlowProxy {
    port: u16,
    task: JoinHandle<()>,
}

impl SlowProxy {
    /// Starts a proxy for a server that pauses after each [`CHUNK`].
    pub(crate) fn start(server: &Server, pause: Duration) -> Self {
        let listener = listen();
        let port = listener.local_addr().unwrap().port();
        let to = server.port();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, to, pause));
            }
        });
        Self { port, task }
    }

    /// Returns the URL for a store.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }
}

impl Drop for SlowProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Listens with small buffers, as a slow link has: a sender that is ahead must wait.
fn listen() -> TcpListener {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(CHUNK).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.listen(1024).unwrap()
}

async fn forward(client: TcpStream, to: u16, pause: Duration) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let requests = tokio::spawn(copy(from_client, to_server, pause));
    copy(from_server, to_client, pause).await;
    requests.abort();
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, pause: Duration) {
    let mut bytes = vec![0; CHUNK as usize];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
        sleep(pause).await;
    }
}
