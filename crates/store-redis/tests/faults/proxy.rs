//! A proxy between a store and its server that can drop replies: the server executes calls, but the
//! store gets no reply.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_testkit::redis::Server;

/// A proxy on a free port; it stops when this value is dropped.
pub(crate) struct Proxy {
    port: u16,
    /// Connections of earlier generations get no replies.
    generation: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy for a server.
    pub(crate) async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let generation = watch::Sender::new(0);
        let (to, shared) = (server.port(), generation.clone());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, to, shared.subscribe()));
            }
        });
        Self {
            port,
            generation,
            task,
        }
    }

    /// Returns the URL for a store.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Drops all further replies on current connections; their calls are still executed.
    pub(crate) fn drop_replies(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(client: TcpStream, to: u16, generation: watch::Receiver<u64>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let mine = *generation.borrow();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
        let is_dropped = *generation.borrow() != mine;
        if !is_dropped && to_client.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    requests.abort();
}
