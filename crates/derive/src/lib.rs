//! The derive macro `TypedJob`, used through the crate `windlass`.

mod attribute;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use attribute::Attribute;

/// Implements `TypedJob` for a type.
///
/// `#[job(kind = "…")]` is required: the kind is stored with every job and must not change when the type
/// is renamed. `queue = "…"` sets the queue (default: `default`), `output = Type` what a handler returns
/// (default: `()`).
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use windlass::TypedJob;
///
/// #[derive(Serialize, Deserialize, TypedJob)]
/// #[job(kind = "mail.send", queue = "mail", output = String)]
/// struct SendMail {
///     to: String,
/// }
///
/// assert_eq!((SendMail::KIND, SendMail::QUEUE), ("mail.send", "mail"));
/// ```
#[proc_macro_derive(TypedJob, attributes(job))]
pub fn typed_job(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

fn expand(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Attribute {
        kind,
        queue,
        output,
    } = Attribute::of(input)?;
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let queue = queue.map(|queue| quote!(const QUEUE: &'static str = #queue;));
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::windlass::TypedJob for #name #arguments #bounds {
            const KIND: &'static str = #kind;
            #queue
            type Output = #output;
        }
    })
}
