//! Subscribes to all channels of a server.

use windlass_testkit::redis::{Connection, Server};

pub(crate) struct Subscriber {
    subscription: Connection,
    publisher: Connection,
}

impl Subscriber {
    pub(crate) fn open(server: &Server) -> Self {
        let mut subscription = server.connect().unwrap();
        subscription.command(&["PSUBSCRIBE", "*"]).unwrap().ok();
        Self {
            subscription,
            publisher: server.connect().unwrap(),
        }
    }

    /// Returns the messages since the last call, as `CHANNEL MESSAGE`.
    pub(crate) fn messages(&mut self) -> Vec<String> {
        const END: &str = "end of messages";
        self.publisher.command(&["PUBLISH", END, ""]).unwrap().ok();
        let mut messages = Vec::new();
        loop {
            let message = self.subscription.receive().unwrap();
            let [_, _, channel, message] = message.array() else {
                panic!("not a message: {message:?}");
            };
            if channel.text() == END {
                return messages;
            }
            messages.push(format!("{} {}", channel.text(), message.text()));
        }
    }
}
