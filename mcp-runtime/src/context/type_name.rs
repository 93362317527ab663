//! Short type names for messages.

/// Returns the name of `T` without module paths, such as `Mutex<Vec<String>>`.
pub(crate) fn short_type_name<T: ?Sized>() -> String {
    without_paths(std::any::type_name::<T>())
}

/// Removes everything before the last segment of each path.
fn without_paths(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut start = 0;
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == ':' && rest.starts_with(':') && !short[start..].is_empty() {
            rest = &rest[1..];
            short.truncate(start);
            continue;
        }
        short.push(character);
        if !(character.is_alphanumeric() || character == '_') {
            start = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{short_type_name, without_paths};

    #[test]
    fn paths_are_left_out_and_nothing_else() {
        assert_eq!(
            short_type_name::<Mutex<Vec<String>>>(),
            "Mutex<Vec<String>>"
        );
        assert_eq!(short_type_name::<(u8, &str)>(), "(u8, &str)");
        for (long, short) in [
            ("app::Db", "Db"),
            ("alloc::sync::Arc<dyn app::store::Store>", "Arc<dyn Store>"),
            ("[app::a::B; 3]", "[B; 3]"),
            ("<app::A as app::B>::C", "<A as B>::C"),
            ("fn(app::A) -> app::B", "fn(A) -> B"),
            ("größe::Maß", "Maß"),
            ("", ""),
        ] {
            assert_eq!(without_paths(long), short);
        }
    }
}
