//! Settings from flags, the environment and `windlass.toml`, in this order of precedence.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::Deserialize;
use windlass::StoreUrl;
use windlass_api::{Code, Error};

use crate::exit::{CliError, Exit, Result};

/// Name of the configuration file, read from the current folder.
pub const FILE: &str = "windlass.toml";
/// Environment variable with the store URL.
pub const STORE_VARIABLE: &str = "WINDLASS_STORE";
const STORE_DEFAULT: &str = "sqlite:windlass.db";

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    Flag,
    Environment,
    File,
    Default,
}

impl SettingSource {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File => "file",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "flag --store",
            Self::Environment => "environment WINDLASS_STORE",
            Self::File => "file windlass.toml",
            Self::Default => "default",
        })
    }
}

/// The effective settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliSettings {
    pub store: StoreUrl,
    pub store_source: SettingSource,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    store: Option<String>,
}

impl CliSettings {
    /// Resolves the settings; `flag` is the value of `--store`.
    ///
    /// The file is read even if it is overridden, so that a mistake in it is reported early.
    pub fn resolve(flag: Option<&str>) -> Result<Self> {
        let environment = match std::env::var(STORE_VARIABLE) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(std::env::VarError::NotPresent) => None,
            Err(std::env::VarError::NotUnicode(_)) => {
                let message = format!("{STORE_VARIABLE} is not UTF-8");
                return Err(CliError::config(
                    message,
                    "set it to a store URL such as sqlite:jobs.db or redis://localhost/0",
                ));
            }
        };
        choose(
            flag,
            environment.as_deref(),
            read_file(Path::new(FILE))?.as_deref(),
        )
    }
}

fn choose(
    flag: Option<&str>,
    environment: Option<&str>,
    file: Option<&str>,
) -> Result<CliSettings> {
    let (text, store_source) = match (flag, environment, file) {
        (Some(text), _, _) => (text, SettingSource::Flag),
        (None, Some(text), _) => (text, SettingSource::Environment),
        (None, None, Some(text)) => (text, SettingSource::File),
        (None, None, None) => (STORE_DEFAULT, SettingSource::Default),
    };
    let store = text.parse().map_err(|error: windlass::Error| {
        if store_source == SettingSource::Flag {
            return CliError::from(error);
        }
        let mut details = Error::from(&error);
        details.message = format!("{} ({store_source})", details.message);
        details.code = Code::BadConfig;
        CliError::new(Exit::BadConfig, details)
    })?;
    Ok(CliSettings {
        store,
        store_source,
    })
}

fn read_file(path: &Path) -> Result<Option<String>> {
    let unreadable = |error: std::io::Error| {
        CliError::config(
            format!("cannot read {FILE}: {error}"),
            "make it a readable UTF-8 file, or remove it",
        )
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    windlass_server::trusted_file::check(&file, path, FILE)
        .map_err(|error| CliError::misconfigured(&error))?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    parse_file(&text)
}

fn parse_file(text: &str) -> Result<Option<String>> {
    toml::from_str::<Keys>(text)
        .map(|keys| keys.store)
        .map_err(|error| {
            // Only the parser's message: the full text quotes the line, which may contain a secret.
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            CliError::config(
                format!("{FILE} line {line}: {}", error.message().trim()),
                "the only key is store, for example store = \"sqlite:jobs.db\"",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_environment_over_the_file_over_the_default() {
        let (flag, environment, file) = (Some("sqlite:a"), Some("sqlite:b"), Some("sqlite:c"));
        for (settings, store, source) in [
            (
                choose(flag, environment, file),
                "sqlite:a",
                SettingSource::Flag,
            ),
            (
                choose(None, environment, file),
                "sqlite:b",
                SettingSource::Environment,
            ),
            (choose(None, None, file), "sqlite:c", SettingSource::File),
            (
                choose(None, None, None),
                "sqlite:windlass.db",
                SettingSource::Default,
            ),
        ] {
            let settings = settings.unwrap();
            assert_eq!(settings.store.to_string(), store);
            assert_eq!(settings.store_source, source);
        }
    }

    #[test]
    fn a_bad_url_is_bad_usage_in_a_flag_and_bad_configuration_elsewhere() {
        assert_eq!(
            choose(Some("jobs.db"), None, None).unwrap_err().exit,
            Exit::Usage
        );
        assert_eq!(
            choose(None, Some("jobs.db"), None).unwrap_err().exit,
            Exit::BadConfig
        );
        assert_eq!(
            choose(None, None, Some("jobs.db")).unwrap_err().exit,
            Exit::BadConfig
        );
    }

    #[test]
    fn an_unknown_key_in_the_file_is_an_error_that_shows_no_values() {
        let failure =
            parse_file("store = 'redis://:hunter2@h'\nstor = 'redis://:hunter2@h'").unwrap_err();

        assert_eq!(failure.exit, Exit::BadConfig);
        assert!(
            failure.details.message.contains("line 2"),
            "{}",
            failure.details.message
        );
        assert!(
            !failure.details.message.contains("hunter2"),
            "{}",
            failure.details.message
        );
    }

    #[test]
    fn a_broken_file_shows_no_values_either() {
        for text in [
            "store = redis://:hunter2@h",
            "store = ['hunter2']",
            "store = \"hunter2",
        ] {
            let failure = parse_file(text).unwrap_err();
            assert!(
                !failure.details.message.contains("hunter2"),
                "{}",
                failure.details.message
            );
        }
    }
}
