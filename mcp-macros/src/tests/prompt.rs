//! Tests for `#[prompt]`.

use expect_test::expect;

use crate::parse::kind::Kind;
use crate::tests::check;

#[test]
fn the_expansion_has_a_function_that_returns_the_parameters() {
    check(
        Kind::Prompt,
        "title = \"Review\"",
        "pub(crate) fn review(#[complete(languages::all)] language: Option<String>, #[complete([\"short\", \"long\"])] style: &str) -> String {}",
        &expect![[r#"
            pub(crate) fn review(language: Option<String>, style: &str) -> String {}
            #[doc(hidden)]
            pub(crate) const fn __mcp_parameters_of_review() -> &'static [::mcp_runtime::__private::ParameterMeta] {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 2usize] = [
                    __mcp::source(
                            <__mcp::Probe<Option<String>>>::from_context,
                            <__mcp::Probe<Option<String>>>::async_from_context,
                            <__mcp::Probe<Option<String>>>::deserialize,
                            <__mcp::Probe<Option<String>>>::json_schema,
                        )
                        .kind()
                        .parameter::<Option<String>>("language", "")
                        .completer(|| __mcp::named(&languages::all)),
                    __mcp::source(
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::async_from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::deserialize,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::json_schema,
                        )
                        .kind()
                        .parameter::<<str as __mcp::Lend>::Owned>("style", "")
                        .candidates(&["short", "long"]),
                ];
                &__MCP_PARAMETERS
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                const __MCP_PARAMETERS: &[__mcp::ParameterMeta] = __mcp_parameters_of_review();
                const _: () = __mcp::rules::check(&<__mcp::Probe<Option<String>>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &<__mcp::Probe<<str as __mcp::Lend>::Owned>>::SUITABILITY,
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Prompt,
                    name: "review",
                    function: __mcp::type_id_of(&review),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[__mcp::ItemOption::Title(__mcp::Cow::Borrowed("Review"))],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        let mut __mcp_slots: (
                            ::core::option::Option<Option<String>>,
                            ::core::option::Option<<str as __mcp::Lend>::Owned>,
                        ) = (::core::option::Option::None, ::core::option::Option::None);
                        __mcp_call.decode(&mut [&mut __mcp_slots.0, &mut __mcp_slots.1])?;
                        let (
                            ::core::option::Option::Some(__mcp_0),
                            ::core::option::Option::Some(__mcp_1),
                        ) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::prompt::reply::<
                                String,
                            >(review(__mcp_0, __mcp::referent::<str>(&__mcp_1))),
                        )
                    }),
                };
                __mcp::inventory::submit! {
                    __mcp::Submitted(& __MCP_DEFINITION)
                }
            };
        "#]],
    );
}
