//! Dynamic definitions of all kinds.

use std::fmt;

use super::{DynamicPrompt, DynamicResource, DynamicTemplate, DynamicTool};
use crate::context::Capability;

/// A dynamic definition of any kind.
#[derive(Debug)]
#[doc(hidden)]
pub enum DynamicItem {
    Tool(DynamicTool),
    Prompt(DynamicPrompt),
    Resource(DynamicResource),
    Template(DynamicTemplate),
}

impl DynamicItem {
    /// Returns the list in which the definition appears.
    pub(crate) fn list(&self) -> Capability {
        match self {
            Self::Tool(_) => DynamicTool::LIST,
            Self::Prompt(_) => DynamicPrompt::LIST,
            Self::Resource(_) => DynamicResource::LIST,
            Self::Template(_) => DynamicTemplate::LIST,
        }
    }

    /// Returns the tags of the definition.
    pub(crate) fn tags(&self) -> impl Iterator<Item = &str> {
        let handler = match self {
            Self::Tool(definition) => &definition.handler,
            Self::Prompt(definition) => &definition.handler,
            Self::Resource(definition) => &definition.handler,
            Self::Template(definition) => &definition.handler,
        };
        handler.tags.iter().map(|tag| &**tag)
    }

    /// Returns the name or URI of the definition.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Tool(definition) => &definition.tool.name,
            Self::Prompt(definition) => &definition.prompt.name,
            Self::Resource(definition) => &definition.resource.uri,
            Self::Template(definition) => &definition.template.uri_template,
        }
    }
}

/// A kind of dynamic definition. This trait is sealed and implemented by the four types of definitions.
#[doc(hidden)]
pub trait ItemKind: sealed::Sealed {
    const LIST: Capability;
    fn into_item(self) -> DynamicItem;
    /// Returns the name or URI.
    fn key(&self) -> &str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! item {
    ($name:ident, $variant:ident, $list:ident, $wire:ident.$key:ident) => {
        impl sealed::Sealed for $name {}

        impl ItemKind for $name {
            const LIST: Capability = Capability::$list;

            fn into_item(self) -> DynamicItem {
                DynamicItem::$variant(self)
            }

            fn key(&self) -> &str {
                &self.$wire.$key
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field(stringify!($key), &self.$wire.$key)
                    .finish_non_exhaustive()
            }
        }
    };
}

item!(DynamicTool, Tool, Tools, tool.name);
item!(DynamicPrompt, Prompt, Prompts, prompt.name);
item!(DynamicResource, Resource, Resources, resource.uri);
item!(DynamicTemplate, Template, Templates, template.uri_template);
