//! A proxy between a store and its server that can swallow answers: the server has done what it was
//! asked, and nobody hears of it.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_testkit::redis::Server;

/// A proxy on a port of its own; it ends with this value.
pub(crate) struct Proxy {
    port: u16,
    /// Connections of earlier generations are not answered any more.
    generation: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Stands before a server that listens on a port.
    pub(crate) async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let generation = watch::Sender::new(0);
        let (to, shared) = (server.port(), generation.clone());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, to, shared.subscribe()));
            }
        });
        Self {
            port,
            generation,
            task,
        }
    }

    /// Where a store finds it.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// From now on nobody who is connected gets an answer; their calls are still carried out.
    pub(crate) fn mute(&self) {
        self.generation.send_modify(|generation| *generation += 1);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, to: u16, generation: watch::Receiver<u64>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let mine = *generation.borrow();
    let (mut asks, mut hears) = client.into_split();
    let (mut answers, mut takes) = server.into_split();
    let asking = tokio::spawn(async move { copy(&mut asks, &mut takes).await });
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = answers.read(&mut bytes).await {
        let is_muted = *generation.borrow() != mine;
        if !is_muted && hears.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    asking.abort();
}
