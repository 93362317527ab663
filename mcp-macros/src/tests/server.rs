//! Tests for `#[server]`.

use expect_test::expect;

use crate::tests::check_server;

#[test]
#[allow(clippy::too_many_lines, reason = "most of it is what the macro emits")]
fn methods_are_called_on_a_shared_value() {
    check_server(
        "impl Notes {
            const LIMIT: u8 = { 5 };
            fn helper() -> bool { true }
            #[tool]
            async fn delete(&self, #[arg(default = Self::LIMIT)] id: u8) -> Result<Self> {}
            #[prompt]
            pub fn show(&self) -> String {}
        }",
        &expect![[r#"
            impl Notes {
                const LIMIT: u8 = { 5 };
                fn helper() -> bool {
                    true
                }
                async fn delete(&self, id: u8) -> Result<Self> {}
                pub fn show(&self) -> String {}
                #[doc(hidden)]
                pub const fn __mcp_parameters_of_show() -> &'static [::mcp_runtime::__private::ParameterMeta] {
                    use ::mcp_runtime::__private as __mcp;
                    static __MCP_PARAMETERS: [__mcp::ParameterMeta; 0usize] = [];
                    &__MCP_PARAMETERS
                }
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                fn __mcp_default_0() -> u8 {
                    Notes::LIMIT
                }
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 1usize] = [
                    __mcp::source(
                            <__mcp::Probe<u8>>::from_context,
                            <__mcp::Probe<u8>>::async_from_context,
                            <__mcp::Probe<u8>>::deserialize,
                            <__mcp::Probe<u8>>::json_schema,
                        )
                        .kind()
                        .parameter::<u8>("id", "")
                        .default_value(__mcp::DefaultValue::Rust {
                            fill: |__mcp_slot| __mcp::fill(__mcp_slot, __mcp_default_0()),
                            json: || __mcp::to_json(&__mcp_default_0()),
                        }),
                ];
                const _: () = __mcp::rules::check(&<__mcp::Probe<u8>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &__mcp::rules::is_argument(&__MCP_PARAMETERS[0usize]),
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Tool,
                    name: "delete",
                    function: __mcp::type_id_of(&<Notes>::delete),
                    receiver: ::core::option::Option::Some(__mcp::Owner::of::<Notes>("Notes")),
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[],
                    output_schema: ::core::option::Option::Some(
                        <Result<Notes> as __mcp::IntoToolResult>::output_schema,
                    ),
                    conforms: <Result<Notes> as __mcp::IntoToolResult>::CONFORMS,
                    run: __mcp::Run::Async(|__mcp_call| {
                        let mut __mcp_slots: (::core::option::Option<u8>,) = (
                            ::core::option::Option::None,
                        );
                        __mcp_call.decode(&mut [&mut __mcp_slots.0])?;
                        let (::core::option::Option::Some(__mcp_0),) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        let __mcp_receiver = __mcp_call.receiver::<Notes>()?;
                        ::core::result::Result::Ok(
                            __mcp::running(async move {
                                __mcp::tool::reply::<
                                    Result<Notes>,
                                >(<Notes>::delete(&__mcp_receiver, __mcp_0).await)
                            }),
                        )
                    }),
                };
                __mcp::inventory::submit! {
                    __mcp::Submitted(& __MCP_DEFINITION)
                }
            };
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                const __MCP_PARAMETERS: &[__mcp::ParameterMeta] = <Notes>::__mcp_parameters_of_show();
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Prompt,
                    name: "show",
                    function: __mcp::type_id_of(&<Notes>::show),
                    receiver: ::core::option::Option::Some(__mcp::Owner::of::<Notes>("Notes")),
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
                        __mcp_call.decode(&mut [])?;
                        let __mcp_receiver = __mcp_call.receiver::<Notes>()?;
                        ::core::result::Result::Ok(
                            __mcp::prompt::reply::<String>(<Notes>::show(&__mcp_receiver)),
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
fn an_error_leaves_the_block_without_markers() {
    check_server(
        "impl Notes { #[tool] fn delete(&mut self, #[arg(range(5))] id: u8) {} fn helper() {} }",
        &expect![[r#"
            impl Notes {
                fn delete(&mut self, id: u8) {}
                fn helper() {}
            }
            ::core::compile_error! {
                "`range` takes a range of numbers: `range(1..=100)`, `range(0.5..)` or `range(..=10)`"
            }
            ::core::compile_error! {
                "a tool takes `&self`, because calls run concurrently; keep state in a `Mutex`, an atomic or a channel"
            }
        "#]],
    );
}
