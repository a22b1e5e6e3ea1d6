//! A custom return type of a handler: the traits of handlers are sealed.

use windlass::handler::IntoRawOutcome;

struct Mine;

impl IntoRawOutcome<()> for Mine {
    fn into_outcome(self, _: windlass::handler::seal::Seal) -> windlass::Outcome {
        unreachable!()
    }
}

fn main() {}
