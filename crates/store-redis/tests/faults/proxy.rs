//! A proxy between a store and its server that can drop or delay replies: the server executes calls,
//! but the store gets no reply, or a late one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

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
    loss: Arc<Loss>,
    delay: watch::Sender<Duration>,
    task: JoinHandle<()>,
}

/// A reply that is lost together with its connection. Meanwhile no other connection is served.
struct Loss {
    /// The text in the reply to lose.
    text: Mutex<Option<&'static str>>,
    is_lost: watch::Sender<bool>,
}

impl Loss {
    fn is_due(&self, reply: &[u8]) -> bool {
        let mut text = self.text.lock().unwrap();
        let is_due = text.is_some_and(|text| String::from_utf8_lossy(reply).contains(text));
        if is_due {
            *text = None;
            self.is_lost.send_replace(true);
        }
        is_due
    }
}

impl Proxy {
    /// Starts a proxy for a server.
    pub(crate) async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let generation = watch::Sender::new(0);
        let delay = watch::Sender::new(Duration::ZERO);
        let (to, shared, late) = (server.port(), generation.clone(), delay.clone());
        let loss = Arc::new(Loss {
            text: Mutex::default(),
            is_lost: watch::Sender::new(false),
        });
        let shared_loss = Arc::clone(&loss);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let faults = (Arc::clone(&shared_loss), late.subscribe());
                tokio::spawn(forward(client, to, shared.subscribe(), faults));
            }
        });
        Self {
            port,
            generation,
            loss,
            delay,
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

    /// Loses the next reply that contains this text: the connection is closed instead. New
    /// connections wait until [`Self::recover`].
    pub(crate) fn lose_reply_with(&self, text: &'static str) {
        *self.loss.text.lock().unwrap() = Some(text);
    }

    /// Waits until that reply was lost.
    pub(crate) async fn lost(&self) {
        let mut is_lost = self.loss.is_lost.subscribe();
        is_lost.wait_for(|is_lost| *is_lost).await.unwrap();
    }

    /// Serves connections again after a loss.
    pub(crate) fn recover(&self) {
        self.loss.is_lost.send_replace(false);
    }

    /// Delays each further reply by this much.
    pub(crate) fn delay_replies(&self, delay: Duration) {
        self.delay.send_replace(delay);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    client: TcpStream,
    to: u16,
    generation: watch::Receiver<u64>,
    (loss, delay): (Arc<Loss>, watch::Receiver<Duration>),
) {
    let mut is_lost = loss.is_lost.subscribe();
    if is_lost.wait_for(|is_lost| !is_lost).await.is_err() {
        return;
    }
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else {
        return;
    };
    let mine = *generation.borrow();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let requests = tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from_server.read(&mut bytes).await {
        if loss.is_due(&bytes[..count]) {
            break;
        }
        let delay = *delay.borrow();
        tokio::time::sleep(delay).await;
        let is_dropped = *generation.borrow() != mine;
        if !is_dropped && to_client.write_all(&bytes[..count]).await.is_err() {
            break;
        }
    }
    requests.abort();
}
