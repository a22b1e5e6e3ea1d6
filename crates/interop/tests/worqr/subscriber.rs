//! A real subscriber to everything that is published.

use windlass_testkit::redis::{Connection, Server};

pub(crate) struct Ear {
    subscribed: Connection,
    speaking: Connection,
}

impl Ear {
    pub(crate) fn open(server: &Server) -> Self {
        let mut subscribed = server.connect().unwrap();
        subscribed.command(&["PSUBSCRIBE", "*"]).unwrap().ok();
        Self {
            subscribed,
            speaking: server.connect().unwrap(),
        }
    }

    /// What was published since it was last asked, as `CHANNEL MESSAGE`.
    pub(crate) fn heard(&mut self) -> Vec<String> {
        const END: &str = "the end of what was heard";
        self.speaking.command(&["PUBLISH", END, ""]).unwrap().ok();
        let mut heard = Vec::new();
        loop {
            let message = self.subscribed.receive().unwrap();
            let [_, _, channel, message] = message.array() else {
                panic!("not a message: {message:?}");
            };
            if channel.text() == END {
                return heard;
            }
            heard.push(format!("{} {}", channel.text(), message.text()));
        }
    }
}
