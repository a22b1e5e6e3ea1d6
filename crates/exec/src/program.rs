//! Finds a program before any job is claimed: a worker without its program would only fail jobs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use windlass_core::{Error, ErrorKind, Result};

use crate::environment::Environment;

/// Searched if `PATH` is not set.
const PATH_DEFAULT: &str = "/bin:/usr/bin";

/// The longest first line of a script that Linux reads.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// Why a file cannot be run.
enum Fault {
    Missing,
    NotExecutable,
    Folder,
    /// The program that its first line names does not exist.
    Interpreter(String),
    Unreadable(io::Error),
}

/// Returns the file that `program` names, which a program with these variables can run.
pub fn find(program: &OsStr, environment: &Environment) -> Result<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return match check(&path) {
            Ok(()) => Ok(path),
            Err(fault) => Err(error(&path, fault)),
        };
    }
    let list = environment.get("PATH");
    let list = list.unwrap_or(OsStr::new(PATH_DEFAULT));
    let mut unusable = None;
    for folder in std::env::split_paths(list) {
        let path = folder.join(program);
        match check(&path) {
            Ok(()) => return Ok(path),
            Err(Fault::Missing) => {}
            Err(fault) => unusable = unusable.or(Some((path, fault))),
        }
    }
    Err(match unusable {
        Some((path, fault)) => error(&path, fault),
        None => not_in_path(program, list),
    })
}

fn check(path: &Path) -> Result<(), Fault> {
    let metadata = path.metadata().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Fault::Missing,
        _ => Fault::Unreadable(error),
    })?;
    if metadata.is_dir() {
        return Err(Fault::Folder);
    }
    if access(path, Access::EXEC_OK).is_err() {
        return Err(Fault::NotExecutable);
    }
    match interpreter(path) {
        Some(name) if !Path::new(&name).exists() => Err(Fault::Interpreter(name)),
        _ => Ok(()),
    }
}

/// Returns the program that the first line of a script names.
fn interpreter(path: &Path) -> Option<String> {
    // A program need not be readable.
    let file = File::open(path).ok()?;
    let mut start = Vec::new();
    file.take(FIRST_LINE_BYTES_MAX)
        .read_to_end(&mut start)
        .ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    // A carriage return is part of the name: Linux looks for a file that ends with it.
    let name = line
        .trim_start_matches([' ', '\t'])
        .split([' ', '\t'])
        .next()?;
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn not_in_path(program: &OsStr, list: &OsStr) -> Error {
    let name = program.display();
    let help = if Path::new(program).is_file() {
        format!("write ./{name}: the current folder is not searched")
    } else {
        "install it, name it by its path, or set another PATH with --env PATH=…".to_owned()
    };
    let message = format!("no program {name} in PATH ({})", list.display());
    Error::new(ErrorKind::Invalid, message, help)
}

fn error(path: &Path, fault: Fault) -> Error {
    let name = path.display();
    let (why, help) = match fault {
        Fault::Missing => {
            let folder = std::env::current_dir().unwrap_or_default();
            let help = format!(
                "check the path; the worker was started in {}",
                folder.display()
            );
            ("it does not exist".to_owned(), help)
        }
        Fault::NotExecutable => (
            "it is not executable".to_owned(),
            format!("run `chmod +x {name}`, or start it with its interpreter: sh {name}"),
        ),
        Fault::Folder => (
            "it is a folder".to_owned(),
            "name a program in it".to_owned(),
        ),
        Fault::Interpreter(interpreter) if interpreter.ends_with('\r') => (
            "its lines end with a carriage return, so its interpreter is not found".to_owned(),
            format!("convert it: sed -i 's/\\r$//' {name}"),
        ),
        Fault::Interpreter(interpreter) => (
            format!("its interpreter {interpreter} does not exist"),
            "install the interpreter, or correct the first line of the script".to_owned(),
        ),
        Fault::Unreadable(error) => (
            error.to_string(),
            "check the permissions of the file and its folders".to_owned(),
        ),
    };
    Error::new(
        ErrorKind::Invalid,
        format!("cannot run {name}: {why}"),
        help,
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::environment::EnvironmentArgs;

    /// An environment whose PATH is this.
    fn with_path(path: &Path) -> Environment {
        let flags = EnvironmentArgs {
            env: vec![format!("PATH=/nonexistent:{}", path.display())],
            ..EnvironmentArgs::default()
        };
        flags.select().unwrap()
    }

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_found_by_its_path_and_in_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("send");
        write(&file, "#! /bin/sh -e\n", 0o755);
        let environment = with_path(folder.path());

        for name in [file.as_os_str(), OsStr::new("send")] {
            assert_eq!(find(name, &environment).unwrap(), file, "{name:?}");
        }
    }

    #[test]
    fn a_program_that_cannot_be_run_is_rejected_with_help() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write(&at("plain"), "#!/bin/sh\n", 0o644);
        write(&at("windows"), "#!/bin/sh\r\n", 0o755);
        write(&at("old"), "#!/nonexistent/python2\n", 0o755);
        std::fs::create_dir(at("folder")).unwrap();
        let environment = with_path(folder.path());

        for (name, message, help) in [
            ("plain", "not executable", "chmod +x"),
            ("windows", "carriage return", "sed -i"),
            ("old", "/nonexistent/python2 does not exist", "first line"),
            ("folder", "is a folder", "name a program"),
        ] {
            for program in [at(name).as_os_str(), OsStr::new(name)] {
                let error = find(program, &environment).unwrap_err();
                assert!(error.to_string().contains(message), "{error}");
                assert!(error.help().contains(help), "{}", error.help());
            }
        }
        let error = find(at("absent").as_os_str(), &environment).unwrap_err();
        assert!(error.to_string().contains("does not exist"), "{error}");
        let error = find(OsStr::new("absent"), &environment).unwrap_err();
        let list = format!("(/nonexistent:{})", folder.path().display());
        assert!(error.to_string().contains(&list), "{error}");
    }
}
