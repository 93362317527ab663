//! Models a field of a `#[data]` type with `#[arg(…)]`.

use proc_macro2::Span;
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::model::argument::check_argument;
use crate::parse::argument::ArgumentOptions;
use crate::parse::data_field::{OtherOptions, ParsedDataField};

/// A field with `#[arg(…)]`, ready to be expanded.
pub(crate) struct DataField {
    /// The position among all fields of the type, in order.
    pub(crate) position: usize,
    pub(crate) ty: syn::Type,
    pub(crate) options: ArgumentOptions,
    /// The sample value, as JSON.
    pub(crate) example: Option<String>,
    /// `true` if the compiler can look the field's type up, to check that the options suit it.
    pub(crate) has_known_type: bool,
}

/// What the rules for a field need to know about its type.
pub(crate) struct FieldOwner {
    /// `true` if values of the type are only sent.
    output: bool,
    is_generic: bool,
    others: OtherOptions,
}

impl FieldOwner {
    pub(crate) fn new(ty: &syn::DeriveInput, output: bool) -> Self {
        Self {
            output,
            is_generic: !ty.generics.params.is_empty(),
            others: OtherOptions::of(&ty.attrs),
        }
    }
}

/// Options of serde and schemars that replace what is known about the field's type.
const REPLACING: [&str; 4] = ["with", "schema_with", "serialize_with", "deserialize_with"];

impl DataField {
    pub(crate) fn new(field: ParsedDataField, owner: &FieldOwner, errors: &mut Errors) -> Self {
        let ParsedDataField {
            position,
            ty,
            is_named,
            mut options,
            marker,
            others,
        } = field;
        check_place(&options, errors);
        check_effect(marker, owner, &others, errors);
        let example = check_argument(&options, errors);
        check_written_once(&options, &others, errors);
        // What is wrong is left out, so that serde does not report it as well.
        if others.find(&["rename"]).is_some() || !is_named {
            let name = options.name.take().map(|name| name.span());
            check_named("name", name, is_named, errors);
        }
        if others.find(&["default"]).is_some() || !is_named {
            let default = options.default.take().map(|default| default.key);
            check_named("default", default, is_named, errors);
        }
        if let Some(default) = &options.default
            && let Some(message) = unread_default_message(owner, &others)
        {
            errors.push(syn::Error::new(default.key, message));
            options.default = None;
        }
        Self {
            position,
            ty,
            options,
            example,
            has_known_type: !owner.is_generic && others.find(&REPLACING).is_none(),
        }
    }
}

/// Rejects options that only parameters and forms have.
fn check_place(options: &ArgumentOptions, errors: &mut Errors) {
    if let Some(header) = &options.header {
        errors.push(syn::Error::new(
            header.span(),
            "`header` is for parameters of tools; to mirror a field, write `#[schemars(extend(\"x-mcp-header\" = \"…\"))]`",
        ));
    }
    if options.flatten.is_present() {
        errors.push(syn::Error::new(
            options.flatten.span(),
            "`flatten` is for parameters of tools; on a field, write `#[serde(flatten)]`",
        ));
    }
    if options.any_path.is_present() {
        errors.push(syn::Error::new(
            options.any_path.span(),
            "`any_path` is for variables of resource templates; a field accepts any string, so remove it",
        ));
    }
    if let Some(title) = &options.title {
        errors.push(syn::Error::new(
            title.key,
            "only the fields of forms have a `title`; the model reads the name and the description",
        ));
    }
}

/// Rejects `#[arg(…)]` where serde or schemars does not look at the field.
fn check_effect(marker: Span, owner: &FieldOwner, others: &OtherOptions, errors: &mut Errors) {
    let message = if let Some(from) = owner.others.find(&["from", "try_from"]) {
        format!(
            "the type has the schema of the type in `#[serde({from} = …)]`, so `#[arg(…)]` has no effect on its field; write \
             `#[schemars(extend(\"…\" = …))]` on the type"
        )
    } else if others.find(&["flatten"]).is_some() {
        "`#[serde(flatten)]` takes the fields of this field's type, so put `#[arg(…)]` on those"
            .to_owned()
    } else if let Some(skip) = others.find(&["skip", "skip_deserializing"]) {
        format!(
            "`#[serde({skip})]` leaves this field out, so `#[arg(…)]` has no effect; remove one of them"
        )
    } else {
        return;
    };
    errors.push(syn::Error::new(marker, message));
}

/// An option and its span, if it is written, with the options of serde and schemars and the keywords that say the same.
type SameOption = (
    &'static str,
    Option<Span>,
    &'static [&'static str],
    &'static [&'static str],
);

/// Rejects options that an attribute of serde or schemars sets as well.
fn check_written_once(options: &ArgumentOptions, others: &OtherOptions, errors: &mut Errors) {
    let constraints = &options.constraints;
    let written: [SameOption; 10] = [
        (
            "name",
            options.name.as_ref().map(syn::LitStr::span),
            &["rename"],
            &[],
        ),
        (
            "description",
            options.description.as_ref().map(|option| option.0.span()),
            &["description"],
            &["description"],
        ),
        (
            "default",
            options.default.as_ref().map(|option| option.key),
            &["default"],
            &["default"],
        ),
        (
            "example",
            options.example.as_ref().map(|option| option.key),
            &["example"],
            &["examples"],
        ),
        (
            "range",
            constraints.range.as_ref().map(|option| option.key),
            &["range"],
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
        ),
        (
            "exclusive_minimum",
            constraints
                .exclusive_minimum
                .as_ref()
                .map(|option| option.key),
            &["range"],
            &["minimum", "exclusiveMinimum"],
        ),
        (
            "length",
            constraints.length.as_ref().map(|option| option.key),
            &["length"],
            &["minLength", "maxLength", "minItems", "maxItems"],
        ),
        (
            "pattern",
            constraints.pattern.as_ref().map(|option| option.key),
            &["regex", "pattern", "contains"],
            &["pattern"],
        ),
        (
            "format",
            constraints.format.as_ref().map(|option| option.key),
            &["email", "url", "ip"],
            &["format"],
        ),
        (
            "items",
            constraints.items.as_ref().map(|option| option.key),
            &["inner"],
            &["items"],
        ),
    ];
    for (option, span, names, keywords) in written {
        let Some(span) = span else { continue };
        let mut keywords = keywords.iter().copied();
        let extended = keywords.find(|word| others.keywords.iter().any(|other| other == word));
        if let Some(other) = others.find(names).or(extended) {
            let is_of_serde = others.of_serde.iter().any(|name| name == other);
            let attribute = if is_of_serde { "serde" } else { "schemars" };
            errors.push(syn::Error::new(
                span,
                format!("`{option}` says the same as `{other}` in `#[{attribute}(…)]` on this field; keep one of them"),
            ));
        }
    }
}

/// Rejects an option that only fields with a name can have.
fn check_named(option: &str, written: Option<Span>, is_named: bool, errors: &mut Errors) {
    if let Some(span) = written.filter(|_| !is_named) {
        errors.push(syn::Error::new(
            span,
            format!("`{option}` needs a field with a name; put it where the type is used"),
        ));
    }
}

/// Returns the message if a default would never be used, or would be read differently from the field.
fn unread_default_message(owner: &FieldOwner, others: &OtherOptions) -> Option<String> {
    let is_replaced = |name: &&str| others.of_serde.iter().any(|other| other == name);
    let mut replacing = ["with", "deserialize_with", "serialize_with"].into_iter();
    if owner.output {
        return Some(
            "values of this type are only sent, so no default is ever used; remove it".to_owned(),
        );
    }
    let other = replacing.find(is_replaced)?;
    Some(format!(
        "`default` does not go together with `{other}`, which changes how the field is read or written; write \
         `#[serde(default = \"function\")]`"
    ))
}
