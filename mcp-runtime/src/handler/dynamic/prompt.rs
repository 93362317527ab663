//! Prompts created at run time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Arguments, DynamicRun, builder};
use crate::context::{Caller, Context};
use crate::handler::access::Access;
use crate::handler::call::{prompt, running};
use crate::handler::definition::GuardOptions;
use crate::handler::prompt::IntoPromptResult;
use crate::types::{Icon, Meta, Prompt, PromptArgument};

/// A prompt known only at run time.
pub struct DynamicPrompt {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) icons: Vec<Icon>,
    pub(crate) meta: Option<Meta>,
    pub(crate) guards: GuardOptions<String>,
    pub(crate) access: Access,
    pub(crate) arguments: Vec<PromptArgument>,
    pub(crate) candidates: Vec<(String, Vec<String>)>,
    pub(crate) run: DynamicRun,
}

builder!(DynamicPrompt);

impl DynamicPrompt {
    /// Creates a prompt with this name.
    pub fn new<F, R>(
        name: impl Into<String>,
        handler: impl Fn(Arguments, Context) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoPromptResult,
    {
        Self {
            name: name.into(),
            title: None,
            description: None,
            icons: Vec::new(),
            meta: None,
            guards: GuardOptions::NONE,
            access: Access::default(),
            arguments: Vec::new(),
            candidates: Vec::new(),
            run: Arc::new(move |arguments, context| {
                let future = handler(arguments, context);
                running(async move { prompt::reply(future.await) })
            }),
        }
    }

    /// Adds a required argument.
    #[must_use]
    pub fn required(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required: Some(true),
        })
    }

    /// Adds an optional argument.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(PromptArgument {
            name: name.into(),
            title: None,
            description: Some(description.into()),
            required: Some(false),
        })
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Sets the completion candidates for an argument.
    #[must_use]
    pub fn candidates(
        mut self,
        argument: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.candidates.push((
            argument.into(),
            candidates.into_iter().map(Into::into).collect(),
        ));
        self
    }
}

impl DynamicPrompt {
    pub(crate) fn definition(&self) -> Prompt {
        Prompt {
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            arguments: self.arguments.clone(),
            icons: self.icons.clone(),
            meta: self.meta.clone(),
        }
    }
}
