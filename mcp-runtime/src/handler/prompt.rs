//! Return types for prompts.
//!
//! Each string or content block becomes a message from the user; a `PromptMessage` keeps its role.

use std::borrow::Cow;

use crate::handler::handler_error::{HandlerError, IntoHandlerError};
use crate::types::{
    AudioContent, ContentBlock, EmbeddedResource, GetPromptResult, ImageContent, PromptMessage,
    ResourceContents, ResourceLink, TextContent,
};

/// A type that a prompt may return.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a prompt",
    label = "not a prompt result",
    note = "return a string (one message from the user), `PromptMessage`, a `Vec` or tuple of messages or content, `GetPromptResult`, or a `Result` of these"
)]
pub trait IntoPromptResult {
    /// Returns the result in a form that is independent of the protocol version.
    ///
    /// # Errors
    ///
    /// Returns the handler's error.
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError>;
}

impl IntoPromptResult for GetPromptResult {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(self)
    }
}

macro_rules! messages {
    ($($type:ty)*) => {$(
        impl IntoPromptResult for $type {
            fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
                Ok(GetPromptResult::new(vec![self.into()]))
            }
        }
    )*};
}

messages!(
    String &str PromptMessage ContentBlock TextContent ImageContent AudioContent ResourceLink EmbeddedResource
    ResourceContents
);

impl IntoPromptResult for Cow<'_, str> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        self.into_owned().into_prompt_result()
    }
}

impl IntoPromptResult for Box<str> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        String::from(self).into_prompt_result()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Into<PromptMessage>> IntoPromptResult for Vec<T> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        let messages: Vec<PromptMessage> = self.into_iter().map(Into::into).collect();
        Ok(GetPromptResult::new(messages))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Into<PromptMessage>, const N: usize> IntoPromptResult for [T; N] {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        let messages: Vec<PromptMessage> = self.into_iter().map(Into::into).collect();
        Ok(GetPromptResult::new(messages))
    }
}

macro_rules! tuples {
    ($($($part:ident)+;)+) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: Into<PromptMessage>),+> IntoPromptResult for ($($part,)+) {
            fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
                #[allow(non_snake_case, reason = "each part is named after its type parameter")]
                let ($($part,)+) = self;
                Ok(GetPromptResult::new(vec![$($part.into()),+]))
            }
        }
    )+};
}

tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }

impl<T: IntoPromptResult, E: IntoHandlerError> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<GetPromptResult, HandlerError> {
        self.map_err(IntoHandlerError::into_handler_error)?
            .into_prompt_result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Role;

    fn roles(value: impl IntoPromptResult) -> Vec<(Role, String)> {
        let messages = value.into_prompt_result().unwrap().messages;
        let text = |content| match content {
            ContentBlock::Text(text) => text.text,
            other => format!("{other:?}"),
        };
        messages
            .into_iter()
            .map(|message| (message.role, text(message.content)))
            .collect()
    }

    #[test]
    fn text_is_one_message_from_the_user() {
        let expected = vec![(Role::User, "a".to_owned())];
        assert_eq!(roles("a"), expected);
        assert_eq!(roles(String::from("a")), expected);
        assert_eq!(roles(Cow::Borrowed("a")), expected);
        assert_eq!(roles(Box::<str>::from("a")), expected);
        assert_eq!(roles(TextContent::new("a")), expected);
        assert_eq!(roles(Ok::<_, String>(["a"])), expected);
        assert_eq!(
            roles(GetPromptResult::new(vec![PromptMessage::user("a")])),
            expected
        );
    }

    #[test]
    fn messages_and_content_mix() {
        let expected = vec![
            (Role::User, "a".to_owned()),
            (Role::Assistant, "b".to_owned()),
        ];
        assert_eq!(roles(("a", PromptMessage::assistant("b"))), expected);
        assert_eq!(
            roles(vec![
                PromptMessage::user("a"),
                PromptMessage::assistant("b")
            ]),
            expected
        );
    }
}
