//! Puts the errors of option parsing into our own words.
//!
//! darling tells its errors apart by their texts only; a text that is not known here is passed on as it is.

/// The same errors at the same places, as we say them.
pub(crate) fn reworded(error: darling::Error) -> syn::Error {
    let mut said = syn::Error::from(error)
        .into_iter()
        .map(|error| syn::Error::new(error.span(), reword(&error.to_string())));
    let Some(mut first) = said.next() else {
        return syn::Error::new(proc_macro2::Span::call_site(), "the options are not valid");
    };
    first.extend(said);
    first
}

fn reword(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("Unknown field: ") {
        return match rest.split_once(". ") {
            None => format!("unknown option {rest}"),
            Some((name, hint)) => {
                let hint = hint
                    .replace("Did you mean ", "did you mean ")
                    .replace("Available values: ", "options are ");
                format!("unknown option {name}; {hint}")
            }
        };
    }
    if let Some(name) = text.strip_prefix("Duplicate field ") {
        return format!("option {name} is given twice");
    }
    if let Some(kind) = text
        .strip_prefix("Unexpected type ")
        .or_else(|| text.strip_prefix("Unexpected literal type "))
    {
        return format!("a value of the kind {kind} does not belong here");
    }
    match text {
        "Unexpected meta-item format `literal`" => {
            "options are written `option = value`, such as `title = \"…\"`".to_owned()
        }
        "Unexpected meta-item format `name-value`" | "Unexpected meta-item format `list`" => {
            "this option is a word by itself, without a value".to_owned()
        }
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::reword;

    #[test]
    fn unknown_options_are_told_in_our_words() {
        for (text, said) in [
            (
                "Unknown field: `titel`. Did you mean `title`?",
                "unknown option `titel`; did you mean `title`?",
            ),
            (
                "Unknown field: `x`. Available values: `crate`, `name`",
                "unknown option `x`; options are `crate`, `name`",
            ),
            ("Unknown field: `x`", "unknown option `x`"),
            ("Duplicate field `x`", "option `x` is given twice"),
            ("anything else", "anything else"),
        ] {
            assert_eq!(reword(text), said);
        }
    }
}
