//! Lists the cases of the conformance suite: every `pub async fn` of its files, by topic.

use std::path::Path;
use std::{env, fs, io};

const FOLDER: &str = "src/conformance";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut topics = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        let source = fs::read_to_string(&path)?;
        let cases: String = source
            .lines()
            .filter_map(|line| line.strip_prefix("pub async fn ")?.split('(').next())
            .map(|case| format!("{case},\n"))
            .collect();
        let topic = path.file_stem().unwrap_or_default();
        topics.push(format!("{} {{\n{cases}}}\n", topic.display()));
    }
    topics.sort();
    let list = format!(
        "/// Passes the list of topics and cases to another macro of this crate.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! conformance_cases {{
            ($then:ident $argument:ident) => {{
                $crate::$then! {{ $argument {} }}
            }};
        }}",
        topics.concat()
    );
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join("cases.rs"), list)
}
