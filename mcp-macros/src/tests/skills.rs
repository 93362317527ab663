//! Snapshots of `skills!` as expanded in the examples package.

use std::path::Path;

use expect_test::expect;

use super::tokens;
use crate::stages;

/// Expands `skills!` and shortens the path of the package in the output.
fn expanded(input: &str) -> String {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let emitted = stages::expand_skills(tokens(input), Some(package.clone())).to_string();
    let emitted = emitted.replace(&*package.display().to_string(), "examples");
    let file = format!("fn expanded() {{ {emitted} }}");
    let file = syn::parse_str(&file).expect("an expression");
    // Digests and front matter are tested separately.
    let text = prettyplease::unparse(&file);
    let lines = text
        .lines()
        .filter(|line| !line.contains("digest: ") && !line.contains("front_matter: "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn files_are_included_with_their_sizes() {
    expect![[r#"
        fn expanded() {
            {
                use framework::__private as __mcp;
                const __MCP_SKILLS: &[__mcp::CompiledSkill] = &[
                    __mcp::CompiledSkill {
                        path: "style-guide",
                        files: &[
                            __mcp::CompiledSkillFile {
                                path: "SKILL.md",
                                contents: __mcp::skill_contents::<
                                    270usize,
                                >(
                                    ::core::include_bytes!(
                                        "examples/skills/writing/style-guide/SKILL.md"
                                    ),
                                ),
                            },
                        ],
                    },
                ];
                __mcp::compiled_skills(__MCP_SKILLS)
            }
        }
    "#]]
    .assert_eq(&expanded("\"skills/writing\", crate = framework"));
}

#[test]
fn mistakes_leave_an_expression_of_the_same_type() {
    expect![[r#"
        fn expanded() {
            {
                ::core::compile_error! {
                    "`skills/writing/style-guide/SKILL.md`: a skill is a directory in the folder, not the folder itself; use the folder above it"
                }
                ::mcp_runtime::skills::Skills::new()
            }
        }
    "#]].assert_eq(&expanded("\"skills/writing/style-guide\""));
    expect![[r#"
        fn expanded() {
            ::core::compile_error! {
                "`skills!` needs a folder next to `Cargo.toml`: `skills!(\"skills/\")`"
            }
        }
    "#]]
    .assert_eq(&expanded("42"));
}
