//! Rewords the errors that darling reports when it parses options.
//!
//! These errors can be distinguished only by their messages. Unrecognized messages are passed on unchanged.

use mcp_schema::suggest::closest;

/// Converts darling's errors to syn's and rewords their messages, keeping their spans.
pub(crate) fn reworded_error(error: darling::Error) -> syn::Error {
    let mut errors = error.flatten().into_iter().map(|error| {
        let known = known_options(&error);
        let error = syn::Error::from(error);
        syn::Error::new(error.span(), reword_message(&error.to_string(), &known))
    });
    let Some(mut first) = errors.next() else {
        return syn::Error::new(proc_macro2::Span::call_site(), "invalid options");
    };
    first.extend(errors);
    first
}

/// Returns the options that are valid at the position of an unknown option. Darling exposes these options only in the
/// `Debug` output of its error.
fn known_options(error: &darling::Error) -> Vec<String> {
    let debug = format!("{error:?}");
    let names = debug.split_once("alts: {").map_or("", |(_, rest)| rest);
    let names = names.split_once('}').map_or("", |(names, _)| names);
    names
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// The error for a value of a flag or of a group of options, the only options that darling reads itself.
const NO_VALUE: &str =
    "this option takes no value after `=`; write its name alone, or its options in parentheses";

/// Rewords a message. `known` lists the existing options.
fn reword_message(text: &str, known: &[String]) -> String {
    if let Some(rest) = text.strip_prefix("Unknown field: ") {
        let (name, _) = rest.split_once(". ").unwrap_or((rest, ""));
        return match hint_for(name.trim_matches('`'), known) {
            Some(hint) => format!("unknown option {name}; {hint}"),
            None => format!("unknown option {name}"),
        };
    }
    if let Some(name) = text.strip_prefix("Duplicate field ") {
        return format!("option {name} is given twice; keep one");
    }
    if text.starts_with("Unexpected type ") || text.starts_with("Unexpected literal type ") {
        return NO_VALUE.to_owned();
    }
    match text {
        "Unexpected meta-item format `literal`" => {
            "expected `option = value`, such as `title = \"…\"`".to_owned()
        }
        "Unexpected meta-item format `name-value`" => NO_VALUE.to_owned(),
        "Unexpected meta-item format `list`" => {
            "this option takes no value; write its name alone".to_owned()
        }
        other => other.to_owned(),
    }
}

/// Suggests a similar option to replace an unknown option or, if no option is similar, lists the existing options.
fn hint_for(name: &str, known: &[String]) -> Option<String> {
    let has = |option: &str| known.iter().any(|known| known == option);
    let instead = match name {
        "min" | "max" | "minimum" | "maximum" | "ge" | "le" if has("range") => {
            "write `range(1..=9)` for numbers, `length(1..=9)` for strings and lists"
        }
        "gt" | "min_exclusive" | "exclusive_min" | "exclusiveMinimum"
            if has("exclusive_minimum") =>
        {
            "write `exclusive_minimum = 0.0`"
        }
        "lt" | "max_exclusive" | "exclusive_max" | "exclusiveMaximum" | "exclusive_maximum"
            if has("exclusive_minimum") =>
        {
            "write `range(..1.0)`, which excludes its end"
        }
        "min_length" | "max_length" | "min_items" | "max_items" if has("length") => {
            "write `length(1..=9)`"
        }
        "regex" if has("pattern") => "write `pattern = \"…\"`",
        "rename" if has("name") => "write `name = \"…\"`",
        "required" | "optional" if has("default") => {
            "an `Option<T>` is optional; anything else is required"
        }
        _ => "",
    };
    if !instead.is_empty() {
        return Some(instead.to_owned());
    }
    let known = || known.iter().map(String::as_str);
    let abbreviated = known().find(|option| {
        name.len().min(option.len()) >= 3 && (option.starts_with(name) || name.starts_with(option))
    });
    if let Some(meant) = closest(name, known()).or(abbreviated) {
        return Some(format!("did you mean `{meant}`?"));
    }
    let list: Vec<String> = known().map(|option| format!("`{option}`")).collect();
    match list.as_slice() {
        [] => None,
        [only] => Some(format!("the only option is {only}")),
        _ => Some(format!("options are {}", list.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use darling::FromMeta;
    use darling::ast::NestedMeta;

    use super::{reword_message, reworded_error};
    use crate::parse::argument::Constraints;
    use crate::parse::listed::ListedOptions;
    use crate::parse::options::CrateOption;
    use crate::parse::tool::RequiredFeatures;

    fn refused<O: FromMeta>(options: &str) -> String {
        let options = NestedMeta::parse_meta_list(options.parse().unwrap()).unwrap();
        let Err(error) = O::from_list(&options) else {
            panic!("accepted");
        };
        let messages: Vec<String> = reworded_error(error)
            .into_iter()
            .map(|it| it.to_string())
            .collect();
        messages.join("\n")
    }

    #[test]
    fn every_unknown_option_has_a_suggestion() {
        for (options, expected) in [
            ("rang = 1", "unknown option `rang`; did you mean `range`?"),
            (
                "secs",
                "unknown option `secs`; options are `exclusive_minimum`, `format`, `items`, `length`, `pattern`, `range`",
            ),
            (
                "max = 5",
                "unknown option `max`; write `range(1..=9)` for numbers, `length(1..=9)` for strings and lists",
            ),
            (
                "regex = \"a\", lenght = 1",
                "unknown option `regex`; write `pattern = \"…\"`\nunknown option `lenght`; did you mean `length`?",
            ),
        ] {
            assert_eq!(refused::<Constraints>(options), expected);
        }
        assert_eq!(
            refused::<RequiredFeatures>("tasks"),
            "unknown option `tasks`; options are `elicitation`, `elicitation_url`, `roots`, `sampling`, `sampling_tools`"
        );
        assert_eq!(
            refused::<CrateOption>("max = 5"),
            "unknown option `max`; the only option is `crate`"
        );
        // Flattened options are suggested too.
        for (written, meant) in [
            ("titel", "title"),
            ("desc", "description"),
            ("time_out", "timeout"),
            ("maxOutput", "max_output"),
            ("crat", "crate"),
        ] {
            let expected = format!("unknown option `{written}`; did you mean `{meant}`?");
            assert_eq!(refused::<ListedOptions>(written), expected);
        }
    }

    #[test]
    fn other_errors_are_reworded() {
        for (text, expected) in [
            ("Unknown field: `x`", "unknown option `x`"),
            ("Duplicate field `x`", "option `x` is given twice; keep one"),
            ("anything else", "anything else"),
        ] {
            assert_eq!(reword_message(text, &[]), expected);
        }
    }
}
