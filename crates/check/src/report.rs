//! The report about a server: what is wrong with what it declares, and what has changed.

use mcp_schema::model_rules::Severity;
use serde_json::{Value, json};

use crate::definitions::{lint_definitions, token_costs};
use crate::finding::{Finding, Findings};
use crate::pages::{ReadPage, lint_pages};
#[cfg(feature = "skills")]
use crate::skills::{ReadSkill, lint_skills};
use crate::surface::{Surface, SurfaceChange, SurfaceList};

/// What is judged.
#[derive(Debug)]
pub struct Judged<'s> {
    /// Everything that the server declares.
    pub surface: &'s Surface,
    /// The tools that clients list. With a tool search, the list contains only some of the tools; the server may also
    /// add tools of its own.
    pub listed: &'s [Value],
    /// The pages of apps.
    pub pages: &'s [ReadPage],
    /// The skills.
    #[cfg(feature = "skills")]
    pub skills: &'s [ReadSkill],
}

/// Maximum number of tools whose tokens are printed. The JSON output contains all of them.
const MAX_COSTS: usize = 10;

/// A report.
#[derive(Debug)]
pub struct CheckReport {
    /// The problems.
    pub findings: Vec<Finding>,
    /// The changes since the surface was saved.
    pub changes: Vec<SurfaceChange>,
    /// The number of items in each list.
    counts: Vec<(SurfaceList, usize)>,
    /// The tools that models read, each with its estimated number of tokens, largest first.
    costs: Vec<(String, usize)>,
}

impl CheckReport {
    /// Judges a server.
    #[must_use]
    pub fn new(judged: &Judged<'_>) -> Self {
        let surface = judged.surface;
        let costs = token_costs(judged.listed);
        let mut found = Findings::new();
        found.all = lint_definitions(surface, &costs);
        lint_pages(judged.pages, surface.items(SurfaceList::Tools), &mut found);
        #[cfg(feature = "skills")]
        lint_skills(judged.skills, &mut found);
        let counts = SurfaceList::ALL.map(|list| (list, surface.items(list).len()));
        let costs = costs.iter().map(|cost| (cost.tool.to_owned(), cost.tokens));
        Self {
            findings: found.all,
            changes: Vec::new(),
            counts: counts.to_vec(),
            costs: costs.collect(),
        }
    }

    /// Returns `true` if no client and no model rejects anything and, if the report is strict, there is no advice
    /// either.
    #[must_use]
    pub fn is_fine(&self, is_strict: bool) -> bool {
        let is_fine = |finding: &Finding| finding.severity == Severity::Advice && !is_strict;
        self.findings.iter().all(is_fine)
    }

    /// Returns `true` if a change breaks clients.
    #[must_use]
    pub fn breaks_clients(&self) -> bool {
        self.changes.iter().any(|change| change.is_breaking)
    }

    fn total(&self) -> usize {
        self.costs.iter().map(|(_, tokens)| tokens).sum()
    }

    /// Returns the report for people. `place` returns the place of a finding's definition in the source, if it is known.
    #[must_use]
    pub fn to_text(&self, place: impl Fn(&Finding) -> Option<String>) -> String {
        let counts = self.counts.iter().map(|(list, count)| match count {
            1 => format!("1 {}", list.word()),
            count => format!("{count} {}s", list.word()),
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        let (total, listed) = (self.total(), self.costs.len());
        let tools = if self.counts.contains(&(SurfaceList::Tools, listed)) {
            "the tools".to_owned()
        } else {
            format!("the {listed} tools that models read")
        };
        let mut lines = vec![format!(
            "{counts}; {tools} use about {total} tokens of a model's context"
        )];
        if listed > 0 {
            let largest = self.costs.iter().take(MAX_COSTS);
            let largest: Vec<_> = largest
                .map(|(tool, tokens)| format!("{tool} {tokens}"))
                .collect();
            let more = match listed.saturating_sub(largest.len()) {
                0 => String::new(),
                more => format!(", and {more} more tools"),
            };
            lines.push(format!("tokens by tool: {}{more}", largest.join(", ")));
        }
        lines.extend(self.findings.iter().map(|finding| match place(finding) {
            Some(place) => format!("{finding}\n  at {place}"),
            None => finding.to_string(),
        }));
        lines.extend(self.changes.iter().map(SurfaceChange::to_string));
        if self.findings.is_empty() && self.changes.is_empty() {
            lines.push("no problems found".to_owned());
        }
        lines.join("\n")
    }

    /// Returns the report for programs. `place` returns the place of a finding's definition in the source, if it is
    /// known.
    #[must_use]
    pub fn to_json(&self, place: impl Fn(&Finding) -> Option<String>) -> Value {
        let found = |one: &Finding| {
            let mut found = json!({
                "severity": one.severity.as_str(),
                "at": one.at(),
                "text": one.text,
                "source": one.source,
            });
            if let Some(place) = place(one) {
                found["line"] = place.into();
            }
            found
        };
        let change = |one: &SurfaceChange| json!({"breaking": one.is_breaking, "text": one.text});
        let cost = |(tool, tokens): &(String, usize)| json!({"tool": tool, "tokens": tokens});
        let mut report = json!({"tokens": self.total()});
        report["tokensByTool"] = self.costs.iter().map(cost).collect();
        for (list, count) in &self.counts {
            report[list.member()] = (*count).into();
        }
        report["findings"] = self.findings.iter().map(found).collect();
        report["changes"] = self.changes.iter().map(change).collect();
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(surface: &Value) -> CheckReport {
        let surface = Surface::parse(&surface.to_string()).unwrap();
        CheckReport::new(&Judged {
            surface: &surface,
            listed: surface.items(SurfaceList::Tools),
            pages: &[],
            #[cfg(feature = "skills")]
            skills: &[],
        })
    }

    #[test]
    fn a_server_without_definitions_has_no_problems() {
        let report = report(&json!({}));
        assert!(report.is_fine(true));
        assert_eq!(
            report.to_text(|_| None),
            "0 tools, 0 prompts, 0 resources, 0 templates; the tools use about 0 tokens of a model's context\nno problems found"
        );
    }

    #[test]
    fn advice_fails_only_a_strict_check_and_has_a_place() {
        let report = report(&json!({"prompts": [{"name": "p"}]}));
        assert!(report.is_fine(false) && !report.is_fine(true));
        let text = report.to_text(|finding| Some(format!("{}.rs:1", finding.key.as_ref()?)));
        let expected = "advice: prompt `p`: has no description; write a doc comment\n  at p.rs:1";
        assert!(text.ends_with(expected), "{text}");
        assert_eq!(
            report.to_json(|_| Some("x:2".into()))["findings"][0]["line"],
            "x:2"
        );
        assert!(
            report.to_json(|_| None)["findings"][0]
                .get("line")
                .is_none()
        );
    }
}
