//! Parses and checks `#[job(…)]`, with errors at the position of the mistake.

use syn::{DeriveInput, LitStr, Type, parse_quote};

const NO_KIND: &str = "a typed job needs a kind, for example #[job(kind = \"mail.send\")]; it is \
    stored with every job, so it is not derived from the name of the type, which may change";

const KIND_RULE: &str = "a kind must have 1 to 128 bytes and no control characters";

const QUEUE_RULE: &str =
    "a queue name must have 1 to 128 letters, digits, dots, underscores, colons or hyphens";

/// The most bytes of a kind or a queue name.
const NAME_BYTES_MAX: usize = 128;

/// The attribute of a typed job.
pub(crate) struct Attribute {
    pub(crate) kind: LitStr,
    pub(crate) queue: Option<LitStr>,
    pub(crate) output: Type,
}

impl Attribute {
    pub(crate) fn of(input: &DeriveInput) -> syn::Result<Self> {
        let (mut kind, mut queue, mut output) = (None, None, None);
        for attribute in input
            .attrs
            .iter()
            .filter(|found| found.path().is_ident("job"))
        {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("kind") {
                    set(&mut kind, meta.value()?.parse()?, &meta)
                } else if meta.path.is_ident("queue") {
                    set(&mut queue, meta.value()?.parse()?, &meta)
                } else if meta.path.is_ident("output") {
                    set(&mut output, meta.value()?.parse()?, &meta)
                } else {
                    Err(meta.error("unknown key; expected one of: kind, queue, output"))
                }
            })?;
        }
        let kind: LitStr = kind.ok_or_else(|| syn::Error::new(input.ident.span(), NO_KIND))?;
        check(&kind, |c| !c.is_control(), KIND_RULE)?;
        if let Some(queue) = &queue {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
            check(queue, is_allowed, QUEUE_RULE)?;
        }
        Ok(Self {
            kind,
            queue,
            output: output.unwrap_or_else(|| parse_quote!(())),
        })
    }
}

fn set<T>(slot: &mut Option<T>, value: T, meta: &syn::meta::ParseNestedMeta) -> syn::Result<()> {
    if slot.replace(value).is_some() {
        return Err(meta.error("duplicate key; set it once"));
    }
    Ok(())
}

fn check(name: &LitStr, is_allowed: impl Fn(char) -> bool, rule: &str) -> syn::Result<()> {
    let text = name.value();
    if text.is_empty() || text.len() > NAME_BYTES_MAX || !text.chars().all(is_allowed) {
        return Err(syn::Error::new(name.span(), rule));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(input: &DeriveInput) -> String {
        match Attribute::of(input) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_kind_is_never_derived_from_the_name_of_the_type() {
        let bare = parse_quote!(
            struct Mail;
        );
        assert!(error(&bare).contains("which may change"));
    }

    #[test]
    fn the_queue_and_the_output_have_defaults() {
        let input: DeriveInput = parse_quote!(
            #[job(kind = "mail.send")]
            struct Mail;
        );
        let attribute = Attribute::of(&input).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(attribute.kind.value(), "mail.send");
        assert!(attribute.queue.is_none());
        assert!(matches!(attribute.output, Type::Tuple(unit) if unit.elems.is_empty()));
    }

    #[test]
    fn a_wrong_key_or_name_is_rejected() {
        let inputs: [(DeriveInput, &str); 5] = [
            (
                parse_quote!(
                    #[job(kind = "")]
                    struct Mail;
                ),
                "1 to 128",
            ),
            (
                parse_quote!(
                    #[job(kind = "a", kind = "b")]
                    struct Mail;
                ),
                "duplicate",
            ),
            (
                parse_quote!(
                    #[job(kind = "a", queue = "a b")]
                    struct Mail;
                ),
                "letters",
            ),
            (
                parse_quote!(
                    #[job(kind = "a", retries = 3)]
                    struct Mail;
                ),
                "expected one of",
            ),
            (
                parse_quote!(
                    #[job(kind = 3)]
                    struct Mail;
                ),
                "string",
            ),
        ];
        for (input, text) in inputs {
            let message = error(&input);
            assert!(
                message.contains(text),
                "{message:?} does not contain {text:?}"
            );
        }
    }
}
