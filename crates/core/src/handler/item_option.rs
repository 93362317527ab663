//! The options of tools, prompts, resources and resource templates: one description, filled by attributes and builders.
//!
//! An attribute expands to a constant list of options; each method of a builder adds one to the list of its definition.
//! `registry::draft` applies a list, in order.

use std::borrow::Cow;
use std::time::Duration;

use schemars::Schema;
use serde_json::Value;

use crate::handler::access::VisibleIf;
use crate::handler::listing::Lister;
use crate::handler::option::AttachedOption;
use crate::types::{Annotations, CacheScope, ClientFeature, Icon, Role, ToolAnnotations};

/// Declares [`ItemOption`] and the builder methods that add options. Each group of methods becomes a macro that adds
/// them to a builder, which has the options in its `handler`. `$dollar` is a dollar sign, for these macros.
macro_rules! item_options {
    (
        $dollar:tt
        without_method {$(
            $(#[$about:meta])*
            $plain:ident($content:ty)
        )*}
        $($group:ident {$(
            $(#[$doc:meta])*
            $method:ident($($argument:ident: $given:ty),*) => $option:ident($value:ty) = $converted:expr;
        )*})*
    ) => {
        /// An option of a definition.
        #[derive(Clone, Debug)]
        pub enum ItemOption {
            $($(#[$about])* $plain($content),)*
            $($($(#[$doc])* $option($value),)*)*
        }

        $(
            macro_rules! $group {
                ($dollar builder:ident) => {
                    impl $dollar builder {$(
                        $(#[$doc])*
                        #[must_use]
                        pub fn $method(mut self, $($argument: $given),*) -> Self {
                            let option = crate::handler::item_option::ItemOption::$option($converted);
                            self.handler.options.push(option);
                            self
                        }
                    )*}
                };
            }

            pub(crate) use $group;
        )*
    };
}

item_options! { $
    without_method {
        /// The URI of a resource, or the URI template of a resource template.
        Uri(&'static str)
        /// `requires(…)`
        Requires(&'static [ClientFeature])
        /// `schema = …`
        InputSchema(fn() -> Result<Schema, String>)
        /// `strict`: arguments are not coerced
        Strict(bool)
        /// `audience(…)`
        Audience(&'static [Role])
        /// `priority`
        Priority(f64)
        /// `last_modified`
        LastModified(&'static str)
        /// The media type of a return type
        OutputMimeType(Option<&'static str>)
        /// `list = …`
        List(fn() -> Box<dyn Lister>)
        /// `#[completer(prompt = …, argument = …)]`
        Completes(Completes)
        /// An option that an add-on defines
        Attached(AttachedOption)
    }

    guarded {
        /// Sets the maximum duration of a call. Defaults to [`limits.calls.timeout`](crate::limits::Limits).
        timeout(timeout: std::time::Duration) => Timeout(Duration) = timeout;
        /// Sets the maximum rate of calls: `10/min`, `5/s burst 20`, `100/h per caller`,
        /// `60/min per claim tenant`. By default, only the server's limits apply. Insertion or start-up fails if the rate is invalid.
        rate(rate: impl Into<String>) => Rate(Cow<'static, str>) = rate.into().into();
        /// Sets the maximum number of concurrent calls. Further calls wait. By default, only the server's limits
        /// apply.
        concurrency(calls: usize) => Concurrency(usize) = calls;
        /// Sets the maximum size of a result in bytes. Defaults to
        /// [`limits.calls.max_result_bytes`](crate::limits::Limits), which is also the upper limit.
        max_output(bytes: usize) => MaxOutput(usize) = bytes;
        /// Requires callers to have all of these scopes, in addition to those already required. By default, no
        /// scopes are required. Insertion or start-up fails if any of the scopes can never occur in credentials.
        ///
        /// Callers without these scopes do not see the definition in lists. If they try to use it, the error names
        /// the required scopes. Scopes do not apply to trusted [`Caller`](crate::context::Caller)s, such as callers
        /// connected through standard input and output.
        scopes(scopes: impl IntoIterator<Item = impl AsRef<str>>) => Scopes(Texts) =
            scopes.into_iter().map(|scope| scope.as_ref().to_owned().into()).collect();
        /// Makes the definition visible only to callers for whom the function returns `true`. For all other
        /// callers, it does not appear to exist. By default, the definition is visible to all callers.
        ///
        /// The function runs at the start of every list request and call, so it must not block.
        visible_if(visible_if: impl Fn(&crate::context::Caller) -> bool + Send + Sync + 'static) =>
            VisibleIf(VisibleIf) =
            crate::handler::access::VisibleIf::Inserted(std::sync::Arc::new(visible_if));
    }

    listed {
        /// Sets the title, a human-readable name.
        title(title: impl Into<String>) => Title(Cow<'static, str>) = title.into().into();
        /// Sets the description that the model reads.
        description(description: impl Into<String>) => Description(Cow<'static, str>) =
            description.into().into();
        /// Adds an icon. Its source must be an `https:` or `data:` URI; otherwise, inserting the item fails.
        icon(icon: crate::types::Icon) => Icons(Made<Vec<Icon>>) = vec![icon].into();
        /// Adds an entry to `_meta`. Inserting the item fails if the key has a reserved prefix.
        meta(key: impl Into<String>, value: impl Into<serde_json::Value>) => Meta(Made<Value>) =
            serde_json::Value::from_iter([(key.into(), value.into())]).into();
        /// Adds tags. Hosts can select definitions by tag (`Server::filter_tags`),
        /// and a tag can require scopes (`Server::require_scopes`). Inserting the
        /// item fails if a tag is empty, begins with `-`, or contains a comma or whitespace.
        tags(tags: impl IntoIterator<Item = impl Into<String>>) => Tags(Texts) =
            tags.into_iter().map(|tag| tag.into().into()).collect();
    }

    hinted {
        /// Sets all hints about the tool's behavior.
        annotations(annotations: crate::types::ToolAnnotations) => Hints(Box<ToolAnnotations>) =
            annotations.into();
        /// Sets the hint that the tool does not modify any data.
        read_only(hint: bool) => ReadOnly(bool) = hint;
        /// Sets the hint that the tool may delete or overwrite data.
        destructive(hint: bool) => Destructive(bool) = hint;
        /// Sets the hint that repeating a call with the same arguments has no additional effect.
        idempotent(hint: bool) => Idempotent(bool) = hint;
        /// Sets the hint that the tool interacts with systems outside the server.
        open_world(hint: bool) => OpenWorld(bool) = hint;
    }

    completed {
        /// Sets the completion candidates for an argument of a prompt, or a variable of a template.
        candidates(
            argument: impl Into<String>,
            candidates: impl IntoIterator<Item = impl Into<String>>
        ) => Candidates(Box<(String, Vec<String>)>) =
            Box::new((argument.into(), candidates.into_iter().map(Into::into).collect()));
    }

    readable {
        /// Sets the media type.
        mime_type(mime_type: impl Into<String>) => MimeType(Cow<'static, str>) =
            mime_type.into().into();
        /// Sets the annotations, such as audience and priority.
        annotations(annotations: crate::types::Annotations) => Annotations(Box<Annotations>) =
            annotations.into();
        /// Sets how long clients may cache the contents. Defaults to the server's value.
        ttl(ttl: std::time::Duration) => Ttl(Duration) = ttl;
        /// Sets which clients may use the cached contents. Defaults to the server's value.
        cache(scope: crate::types::CacheScope) => Cache(CacheScope) = scope;
    }

    sized {
        /// Sets the size of the contents in bytes, before any encoding.
        size(size: u64) => Size(u64) = size;
    }
}

/// Returns the tags among these options.
pub(crate) fn tags(options: &[ItemOption]) -> impl Iterator<Item = &str> {
    let tags = options.iter().flat_map(|option| match option {
        ItemOption::Tags(tags) => &**tags,
        _ => &[],
    });
    tags.map(|tag| &**tag)
}

/// Returns the add-ons' options among these options.
pub fn attached(options: &[ItemOption]) -> impl Iterator<Item = &AttachedOption> {
    options.iter().filter_map(|option| match option {
        ItemOption::Attached(option) => Some(option),
        _ => None,
    })
}

/// The argument that a completer specifies as its target.
#[derive(Clone, Copy, Debug)]
pub struct Completes {
    /// Returns the type of the prompt's or template's function.
    pub target: fn() -> std::any::TypeId,
    /// The name of the argument or variable.
    pub argument: &'static str,
}

/// Several strings.
pub(crate) type Texts = Cow<'static, [Cow<'static, str>]>;

/// A value, or the function in an attribute that returns it.
#[derive(Clone, Debug)]
pub enum Made<T> {
    /// From an attribute.
    By(fn() -> T),
    /// From a builder.
    Ready(Box<T>),
}

impl<T> Made<T> {
    pub(crate) fn make(self) -> T {
        match self {
            Self::By(make) => make(),
            Self::Ready(value) => *value,
        }
    }
}

impl<T> From<T> for Made<T> {
    fn from(value: T) -> Self {
        Self::Ready(Box::new(value))
    }
}
