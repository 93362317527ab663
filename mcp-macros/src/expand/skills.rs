//! `skills!`: an expression with the skills of a folder.

use std::path::Path;

use mcp_skills::skill::{CheckedFile, CheckedSkill};
use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::tokens::runtime;
use crate::model::skills::IncludedSkills;

/// Returns the expression.
///
/// The compiler reads the files again, by `include_bytes!`, so that it knows which files the program depends on.
pub(crate) fn skills(included: &IncludedSkills) -> TokenStream {
    let runtime = runtime(included.runtime.as_ref());
    let folder = Path::new(&included.folder);
    let skills = included.skills.iter().map(|skill| one(skill, folder));
    quote!({
        use #runtime::__private as __mcp;
        const __MCP_SKILLS: &[__mcp::CompiledSkill] = &[#(#skills),*];
        __mcp::compiled_skills(__MCP_SKILLS)
    })
}

/// Returns an expression of the same type, and the errors.
pub(crate) fn failed_skills(included: &IncludedSkills, error: &syn::Error) -> TokenStream {
    let runtime = runtime(included.runtime.as_ref());
    let error = error.to_compile_error();
    quote!({
        #error
        #runtime::skills::Skills::new()
    })
}

fn one(skill: &CheckedSkill, folder: &Path) -> TokenStream {
    let (path, front_matter) = (&skill.path, skill.front_matter_json());
    let folder = folder.join(path);
    let files = skill.files.iter().map(|file| one_file(file, &folder));
    quote!(__mcp::CompiledSkill {
        path: #path,
        front_matter: #front_matter,
        files: &[#(#files),*],
    })
}

fn one_file(file: &CheckedFile, skill: &Path) -> TokenStream {
    let CheckedFile {
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
