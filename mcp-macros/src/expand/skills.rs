//! Expands `skills!` to an expression that contains the skills in a folder.

use std::path::Path;

use mcp_skills::skill::{CheckedSkill, CheckedSkillFile};
use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::runtime_path;
use crate::model::skills::IncludedSkills;

/// Returns the expression.
///
/// The files are included with `include_bytes!` so that the compiler knows which files the program depends on.
pub(crate) fn expand_skills(included: &IncludedSkills) -> TokenStream {
    let runtime = runtime_path(included.runtime.as_ref());
    let folder = Path::new(&included.folder);
    let skills = included
        .skills
        .iter()
        .map(|skill| skill_expression(skill, folder));
    quote!({
        use #runtime::__private as __mcp;
        const __MCP_SKILLS: &[__mcp::CompiledSkill] = &[#(#skills),*];
        __mcp::compiled_skills(__MCP_SKILLS)
    })
}

/// Returns an expression of the same type, and the errors.
pub(crate) fn expand_failed_skills(included: &IncludedSkills, error: &syn::Error) -> TokenStream {
    let runtime = runtime_path(included.runtime.as_ref());
    let error = error.to_compile_error();
    quote!({
        #error
        #runtime::skills::Skills::new()
    })
}

fn skill_expression(skill: &CheckedSkill, folder: &Path) -> TokenStream {
    let (path, front_matter) = (&skill.path, skill.front_matter_json());
    let folder = folder.join(path);
    let files = skill
        .files
        .iter()
        .map(|file| skill_file_expression(file, &folder));
    quote!(__mcp::CompiledSkill {
        path: #path,
        front_matter: #front_matter,
        files: &[#(#files),*],
    })
}

fn skill_file_expression(file: &CheckedSkillFile, skill: &Path) -> TokenStream {
    let CheckedSkillFile {
        path,
        contents,
        digest,
    } = file;
    let size = contents.len();
    let location = skill.join(path).display().to_string();
    quote!(__mcp::CompiledSkillFile {
        path: #path,
        digest: #digest,
        contents: __mcp::skill_contents::<#size>(::core::include_bytes!(#location)),
    })
}
