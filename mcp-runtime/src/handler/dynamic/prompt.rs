//! Prompts created at run time.

use std::future::Future;

use serde_json::Value;

use super::{Arguments, DynamicHandler, builder};
use crate::context::Context;
use crate::handler::call::{prompt, running};
use crate::handler::prompt::IntoPromptResult;
use crate::types::{Icon, Prompt, PromptArgument};

/// A prompt defined at run time.
pub struct DynamicPrompt {
    pub(crate) prompt: Prompt,
    pub(crate) handler: DynamicHandler,
}

builder!(DynamicPrompt, prompt);

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
        let mut prompt = Prompt::default();
        prompt.name = name.into();
        Self {
            prompt,
            handler: DynamicHandler::new(move |arguments, context| {
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
        self.prompt.arguments.push(argument);
        self
    }

    /// Sets the completion candidates for an argument.
    #[must_use]
    pub fn candidates(
        mut self,
        argument: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.handler.add_candidates(argument, candidates);
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
