//! Drawings of workflows.

use insta::assert_snapshot;

use super::*;
use crate::domain::AgentId;
use crate::files::config::configuration::{Source, load};
use crate::setup::template::{Founder, Template};

fn rules(project: &str, org: &str) -> Rules {
    let source = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
    let read = load(&[source("project.yaml", project), source("org.yaml", org)]).unwrap();
    Rules::new(read.project, read.org).unwrap().0
}

fn of_template(template: Template) -> Rules {
    let agent: AgentId = "human-ada".parse().unwrap();
    let founder = Founder { agent, name: "Ada".to_owned(), email: "ada@example.org".to_owned() };
    let files = template.files("garden", &founder);
    rules(&files.project, &files.org)
}

/// Returns a drawing without its table, with one element per line.
fn drawn(rules: &Rules, at: Option<&str>) -> String {
    let workflow = &rules.project.workflows[0];
    let at = at.map(|gate| gate.parse().unwrap());
    let page =
        workflow_svg(rules, workflow, &|gate| gate.as_str().len(), at.as_ref(), &[]).into_string();
    assert!(!page.contains("style=") && !page.contains("<script"), "{page}");
    let (svg, _) = page.split_once("<details").unwrap();
    svg.replace("><", ">\n<")
}

#[test]
fn every_template_is_drawn_whole() {
    for template in Template::ALL.iter().copied() {
        let rules = of_template(template);
        let workflow = &rules.project.workflows[0];
        let edges = edges(workflow);
        let graph = Graph::of(&rules, workflow, &edges);
        let page = drawn(&rules, None);
        for gate in &workflow.gates {
            assert!(page.contains(&format!(">{}</text>", gate.id)), "{template}: {}", gate.id);
        }
        let told: usize = graph.routes.iter().filter(|route| route.side != Ordering::Equal).count();
        let beside = edges.len() - told;
        assert!(beside <= 2 * graph.boxes.len(), "{template}: all edges but those to the next box");
        for pair in graph.boxes.windows(2) {
            assert!(pair[0].top + pair[0].height < pair[1].top, "{template}");
        }
        for one in &graph.boxes {
            let place = graph.boxes.iter().position(|other| other.place == one.place);
            let ports = graph.routes.iter().filter(|route| Some(route.from) == place);
            assert!(ports.clone().all(|route| (route.port + 1) * LINE <= one.height), "{template}");
        }
        assert!(graph.size.0 < 800, "{template}: {:?}", graph.size);
    }
}

#[test]
fn lines_beside_the_boxes_do_not_lie_on_each_other() {
    for template in Template::ALL.iter().copied() {
        let rules = of_template(template);
        let workflow = &rules.project.workflows[0];
        let graph = Graph::of(&rules, workflow, &edges(workflow));
        let beside = graph.routes.iter().filter(|route| route.side != Ordering::Equal);
        for (one, other) in beside.clone().flat_map(|one| beside.clone().map(move |two| (one, two)))
        {
            let shares = one.side == other.side && one.column == other.column && one.to != other.to;
            let spans = [one, other].map(|at| (at.from.min(at.to), at.from.max(at.to)));
            let meets = spans[0].0 <= spans[1].1 && spans[1].0 <= spans[0].1;
            assert!(!(shares && meets), "{template}: {} and {}", one.label, other.label);
        }
    }
}

#[test]
fn a_drawing_of_two_gates() {
    let rules = of_template(Template::Basic);
    let page = drawn(&rules, Some("review"));
    let opened = page.lines().filter(|line| !line.starts_with("</") && !line.contains("head"));
    assert_snapshot!(opened.collect::<Vec<_>>().join("\n"), @r#"
    <div class="workflow">
    <figure class="chart">
    <h2>Workflow default</h2>
    <svg width="361" height="185" viewBox="0 0 361 185" role="img" aria-labelledby="workflow-default workflow-default-about">
    <title id="workflow-default">Workflow default</title>
    <desc id="workflow-default-about">2 gates, and where they lead. The task is at review.</desc>
    <g class="edge">
    <title>complete</title>
    <path class="way" d="M222 48V80">
    <g class="edge">
    <title>complete</title>
    <path class="way" d="M222 124V156">
    <g class="edge back">
    <title>needs_review (5 times at most)</title>
    <path class="way" d="M87 94H17V18H87">
    <text class="end" x="79" y="90">sent back</text>
    <g class="gate">
    <rect x="87" y="4" width="270" height="44" rx="6">
    <text class="name" x="99" y="22">work</text>
    <text class="count end" x="345" y="22">4</text>
    <text class="line" x="99" y="39">worker</text>
    <g class="gate here">
    <rect x="87" y="80" width="270" height="44" rx="6">
    <text class="name" x="99" y="98">review</text>
    <text class="count end" x="345" y="98">6</text>
    <text class="line" x="99" y="115">reviewer</text>
    <g class="end-box">
    <rect x="87" y="156" width="270" height="27" rx="6">
    <text class="name" x="99" y="174">done</text>
    <figcaption aria-hidden="true">2 gates, and where they lead. The task is at review.</figcaption>
    "#);
}

#[test]
fn a_fork_has_its_branches_and_a_condition_its_test() {
    let project = "\
workflow:
  gates:
    - {id: work, role: r}
    - {id: is-big, type: condition, when: \"tags.includes('big')\", routes: {'true': $next, 'false': $end}}
    - id: checks
      type: fork
      joinStrategy: all
      branches: [{id: law, role: r, canReject: true}, {id: style, role: r}]
";
    let page = drawn(&rules(project, "roles: {r: {agents: [x]}}"), None);
    let texts = page.lines().filter(|line| line.contains("<text") || line.contains("branch"));
    assert_snapshot!(texts.collect::<Vec<_>>().join("\n"), @r#"
    <text class="start" x="230" y="161">yes</text>
    <text class="start" x="365" y="90">no</text>
    <text class="end" x="79" y="183">sent back</text>
    <text class="name" x="99" y="22">work</text>
    <text class="count end" x="345" y="22">4</text>
    <text class="line" x="99" y="39">r</text>
    <text class="name" x="99" y="98">is-big</text>
    <text class="count end" x="345" y="98">6</text>
    <text class="line" x="99" y="115">decides by itself</text>
    <text class="line" x="99" y="132">when tags.includes('big')</text>
    <text class="name" x="99" y="191">checks</text>
    <text class="count end" x="345" y="191">6</text>
    <text class="line" x="99" y="208">2 branches at once, until all of them pass</text>
    <rect class="branch" x="95" y="213" width="254" height="15" rx="3">
    <text class="line" x="99" y="225">law: r</text>
    <rect class="branch" x="95" y="230" width="254" height="15" rx="3">
    <text class="line" x="99" y="242">style: r</text>
    <text class="name" x="99" y="301">done</text>
    "#);
}

#[test]
fn long_names_are_cut() {
    let project = format!("workflow: {{gates: [{{id: {}, role: r}}]}}", "long-".repeat(10) + "x");
    let page = drawn(&rules(&project, "roles: {r: {agents: [x]}}"), None);
    assert!(page.contains(&format!("<title>{}x</title>", "long-".repeat(10))), "{page}");
}
