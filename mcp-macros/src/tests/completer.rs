//! Tests for `#[completer]`.

use expect_test::expect;

use crate::parse::kind::Kind;
use crate::tests::check;

#[test]
fn the_first_parameter_of_a_completer_is_not_an_argument() {
    check(
        Kind::Completer,
        "",
        "fn languages(partial: &str, code: Option<String>) -> Vec<String> {}",
        &expect![[r#"
            fn languages(partial: &str, code: Option<String>) -> Vec<String> {}
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 2usize] = [
                    __mcp::source(
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::async_from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::deserialize,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::json_schema,
                        )
                        .kind()
                        .parameter::<<str as __mcp::Lend>::Owned>("", ""),
                    __mcp::source(
                            <__mcp::Probe<Option<String>>>::from_context,
                            <__mcp::Probe<Option<String>>>::async_from_context,
                            <__mcp::Probe<Option<String>>>::deserialize,
                            <__mcp::Probe<Option<String>>>::json_schema,
                        )
                        .kind()
                        .parameter::<Option<String>>("code", ""),
                ];
                const _: () = <__mcp::Probe<<str as __mcp::Lend>::Owned>>::CONSTRAINTS
                    .check_partial_text();
                const _: () = __mcp::rules::check(
                    &__mcp::rules::partial_text(&__MCP_PARAMETERS[0usize]),
                );
                const _: () = __mcp::rules::check(
                    &<__mcp::Probe<<str as __mcp::Lend>::Owned>>::SUITABILITY,
                );
                const _: () = __mcp::rules::check(&<__mcp::Probe<Option<String>>>::SUITABILITY);
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Completer,
                    name: "languages",
                    function: __mcp::type_id_of(&languages),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        let mut __mcp_slots: (
                            ::core::option::Option<<str as __mcp::Lend>::Owned>,
                            ::core::option::Option<Option<String>>,
                        ) = (::core::option::Option::None, ::core::option::Option::None);
                        __mcp_call.decode(&mut [&mut __mcp_slots.0, &mut __mcp_slots.1])?;
                        let (
                            ::core::option::Option::Some(__mcp_0),
                            ::core::option::Option::Some(__mcp_1),
                        ) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::completer::reply::<
                                Vec<String>,
                            >(languages(__mcp::referent::<str>(&__mcp_0), __mcp_1)),
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

#[test]
fn the_completed_argument_is_checked() {
    check(
        Kind::Completer,
        r#"prompt = prompts::review, argument = "language""#,
        "fn languages(partial: String) -> Vec<String> {}",
        &expect![[r#"
            fn languages(partial: String) -> Vec<String> {}
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 1usize] = [
                    __mcp::source(
                            <__mcp::Probe<String>>::from_context,
                            <__mcp::Probe<String>>::async_from_context,
                            <__mcp::Probe<String>>::deserialize,
                            <__mcp::Probe<String>>::json_schema,
                        )
                        .kind()
                        .parameter::<String>("", ""),
                ];
                const _: () = <__mcp::Probe<String>>::CONSTRAINTS.check_partial_text();
                const _: () = __mcp::rules::check(
                    &__mcp::rules::partial_text(&__MCP_PARAMETERS[0usize]),
                );
                const _: () = __mcp::rules::check(&<__mcp::Probe<String>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &__mcp::rules::completed_argument(
                        "prompt",
                        "review",
                        prompts::__mcp_parameters_of_review(),
                        "language",
                    ),
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Completer,
                    name: "languages",
                    function: __mcp::type_id_of(&languages),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::Completes(__mcp::Completes {
                            target: || __mcp::type_id_of(&prompts::review),
                            argument: "language",
                        }),
                    ],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        let mut __mcp_slots: (::core::option::Option<String>,) = (
                            ::core::option::Option::None,
                        );
                        __mcp_call.decode(&mut [&mut __mcp_slots.0])?;
                        let (::core::option::Option::Some(__mcp_0),) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::completer::reply::<Vec<String>>(languages(__mcp_0)),
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
