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
        self.argument(argument(name.into(), description.into(), true))
    }

    /// Adds an optional argument.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        self.argument(argument(name.into(), description.into(), false))
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

fn argument(name: String, description: String, required: bool) -> PromptArgument {
    let mut argument = PromptArgument::default();
    argument.name = name;
    argument.description = Some(description);
    argument.required = Some(required);
    argument
}

impl DynamicPrompt {
    pub(crate) fn definition(&self) -> Prompt {
        let mut prompt = Prompt::default();
        prompt.name.clone_from(&self.name);
        prompt.title.clone_from(&self.title);
        prompt.description.clone_from(&self.description);
        prompt.arguments.clone_from(&self.arguments);
        prompt.icons.clone_from(&self.icons);
        prompt.meta.clone_from(&self.meta);
        prompt
    }
}
