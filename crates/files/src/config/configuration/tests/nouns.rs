//! The content of a project's files, as nouns.

use super::*;
use aof_domain::{
    AgentId, BranchName, OnConditionError, Outcome, Period, Permission, RejectionStrategy,
    RemoteName, TaskLayout,
};

#[test]
fn a_whole_project_becomes_nouns() {
    let org = "
roles:
  gardener:
    agents: [agent-1, agent-2]
    description: Grows
  po: {agents: human-ada, requireHuman: true}
  empty:
agents:
  human-ada: {name: Ada, email: ada@garden.example, may: [cancel, reopen]}
  agent-1:
";
    let configuration = good(&[("org.yaml", org), ("project.yaml", PLANTS), ("README.md", ":\t?")]);
    let project = &configuration.project;
    assert_eq!(
        (project.name.as_deref(), project.owner.as_deref()),
        (Some("Botanical garden"), Some("Ada"))
    );
    assert_eq!(
        (project.id_prefix.as_str(), project.layout, project.commit_edits),
        ("BG", TaskLayout::Sharded, false)
    );
    let git = &project.git;
    assert_eq!((git.sync, git.every.seconds()), (true, 300));
    assert_eq!(git.remote.as_ref().map(RemoteName::as_str), Some("upstream"));
    assert_eq!(git.branch.as_ref().map(BranchName::as_str), Some("team/tasks"));
    assert_eq!(
        (&project.default_workflow, project.implicit_workflow),
        (&workflow("planting"), false)
    );
    let planting = &project.workflows[0];
    assert_eq!((planting.rejection, planting.holds_rejections), (RejectionStrategy::Origin, false));
    let ids: Vec<&str> = planting.gates.iter().map(|gate| gate.id.as_str()).collect();
    assert_eq!(ids, ["grow", "inspect", "label"]);
    let inspect = &planting.gates[1];
    let duty = inspect.duty().unwrap();
    assert!(duty.can_reject && !duty.can_skip && !duty.require_human);
    assert_eq!(inspect.when.as_deref(), Some("!tags.includes('known') || metadata.rarity > 3"));
    assert_eq!(inspect.on_condition_error, OnConditionError::Enter);
    assert_eq!(duty.timeout.map(Period::seconds), Some(5_400));
    assert_eq!(duty.brief.entry.tips, Some(vec!["Use a lens".to_owned()]));
    assert_eq!(duty.brief.entry.instructions.as_deref(), Some("Look first.\nThen write.\n"));
    assert_eq!(
        duty.brief.entry.outcomes[1],
        (Outcome::NeedsReview, "It needs more care".to_owned())
    );
    assert_eq!(
        duty.brief.reentry.expectations,
        Some(vec!["Check what was found: all of it".to_owned()])
    );
    assert_eq!(inspect.metadata["bed"], 7);
    assert!(planting.gates[2].duty().unwrap().require_human);
    let org = &configuration.org;
    let people: AgentId = "human-ada".parse().unwrap();
    assert_eq!(org.role(&"gardener".parse().unwrap()).unwrap().agents.len(), 2);
    let po = org.role(&"po".parse().unwrap()).unwrap();
    assert!(po.require_human && po.agents == [people.clone()]);
    assert!(org.role(&"empty".parse().unwrap()).unwrap().agents.is_empty());
    let ada = org.agent(&people).unwrap();
    assert_eq!(
        (ada.email.as_deref(), &ada.may[..]),
        (Some("ada@garden.example"), &[Permission::Cancel, Permission::Reopen][..])
    );
    assert!(org.is_registered(&"agent-1".parse().unwrap()));
}

#[test]
fn a_project_without_a_workflow_has_the_implicit_one() {
    for files in [
        &[][..],
        &[("project.yaml", "")],
        &[("project.yaml", "# nothing yet\n"), ("org.yaml", "# nobody yet\n")],
    ] {
        let configuration = good(files);
        let project = configuration.project;
        assert!(project.implicit_workflow);
        assert_eq!(project.default_workflow, project.workflows[0].name);
        let [gate] = &project.workflows[0].gates[..] else { panic!("one gate") };
        assert_eq!((gate.id.as_str(), gate.role().unwrap().as_str()), ("complete", "default"));
        assert_eq!(configuration.org, Org::default());
    }
}

#[test]
fn names_show_the_subject_of_a_file() {
    let workflow = |stem: &str| Some(RuleFile::Workflow(stem.to_owned()));
    for (name, subject) in [
        ("project.yaml", Some(RuleFile::Project)),
        ("org.yaml", Some(RuleFile::Org)),
        ("workflows/release.yaml", workflow("release")),
        ("workflows/release.yml", workflow("release")),
        ("workflows/a.b.yaml", workflow("a.b")),
        ("workflows/README.md", None),
        ("workflows/.release.yaml", None),
        ("workflows/.yaml", None),
        ("workflows/old/release.yaml", None),
        ("workflowsx.yaml", None),
        ("sub/project.yaml", None),
        ("project.yml", None),
    ] {
        assert_eq!(RuleFile::at(name), subject, "{name}");
    }
}
