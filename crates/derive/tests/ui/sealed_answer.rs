//! A type of one's own as the answer of a handler: the traits of handlers are not for others to implement.

use windlass::handler::RawAnswer;

struct Mine;

impl RawAnswer<()> for Mine {
    fn into_outcome(self, _: windlass::handler::seal::Seal) -> windlass::Outcome {
        unreachable!()
    }
}

fn main() {}
