//! The statistics as `--json` shows them: times are in seconds, rates from 0 to 1.

use serde_json::{Value, json};

use super::agents::AgentStats;
use super::gates::GateStats;
use super::loops::{Loops, MANY as MANY_PASSES};
use super::spread::{Share, Spread};
use super::stats::Stats;
use super::tags::TagStats;
use super::weeks::{Direction, Trend, Week};
use crate::tasks::headers::header::time;
use crate::tasks::headers::listing::unreadable_value;

/// Returns the statistics as `--json` shows them.
pub(crate) fn stats_value(stats: &Stats) -> Value {
    let at = |seconds| time(seconds).to_string();
    let tally = &stats.tally;
    json!({
        "project": stats.project,
        "workflow": stats.workflow,
        "from": at(stats.span.from),
        "until": at(stats.span.until),
        "tasks": {
            "all": tally.all,
            "active": tally.active,
            "created": tally.created,
            "completed": tally.completed,
            "failed": tally.failed,
            "cancelled": tally.cancelled,
        },
        "visits": tally.visits,
        "leadTime": spread(stats.lead.as_ref()),
        "completedPerWeek": number(stats.throughput()),
        "firstPass": share(stats.first_pass),
        "rejections": share(stats.rejections),
        "trend": trend(&stats.trend),
        "passes": loops(&stats.loops),
        "bottleneck": stats.bottleneck().map(|gate| json!({"workflow": gate.workflow, "gate": gate.gate})),
        "idle": stats.gates.iter().filter(|gate| gate.is_idle())
            .map(|gate| json!({"workflow": gate.workflow, "gate": gate.gate})).collect::<Vec<_>>(),
        "gates": stats.gates.iter().map(gate).collect::<Vec<_>>(),
        "agents": stats.agents.iter().map(agent).collect::<Vec<_>>(),
        "tags": stats.tags.iter().map(tag).collect::<Vec<_>>(),
        "weeks": stats.weeks.iter().map(week).collect::<Vec<_>>(),
        "skewed": stats.skewed,
        "unreadable": stats.unreadable.iter().map(unreadable_value).collect::<Vec<_>>(),
    })
}

fn spread(spread: Option<&Spread>) -> Value {
    spread.map_or(
        Value::Null,
        |spread| json!({"count": spread.count, "p50": spread.p50, "p85": spread.p85, "p95": spread.p95}),
    )
}

fn share(share: Share) -> Value {
    json!({"count": share.part, "of": share.whole, "rate": number(share.rate())})
}

/// Four digits behind the point are more than such numbers are worth.
fn number(value: Option<f64>) -> Value {
    value.map_or(Value::Null, |value| json!((value * 10_000.0).round() / 10_000.0))
}

fn trend(trend: &Trend) -> Value {
    json!({
        "direction": trend.direction().map(Direction::as_str),
        "earlier": share(trend.earlier),
        "later": share(trend.later),
    })
}

fn loops(loops: &Loops) -> Value {
    let mut counts: Vec<Value> = loops
        .few
        .iter()
        .zip(1_u32..)
        .map(|(tasks, passes)| json!({"passes": passes, "tasks": tasks}))
        .collect();
    counts.push(json!({"passes": format!("over {MANY_PASSES}"), "tasks": loops.many.len()}));
    let worst: Vec<Value> =
        loops.many.iter().map(|(task, passes)| json!({"task": task, "passes": passes})).collect();
    json!({"tasks": loops.tasks, "average": number(loops.average()), "counts": counts, "worst": worst})
}

fn gate(gate: &GateStats) -> Value {
    json!({
        "workflow": gate.workflow,
        "gate": gate.gate,
        "role": gate.role,
        "inForce": gate.in_force,
        "duration": spread(gate.spread.as_ref()),
        "timeShare": number(gate.time.rate()),
        "canReject": gate.can_reject,
        "rejections": share(gate.rejections),
        "firstPass": share(gate.first_pass),
        "skipped": gate.skipped,
        "standing": gate.standing,
        "oldest": gate.oldest,
    })
}

fn agent(agent: &AgentStats) -> Value {
    json!({
        "agent": agent.agent,
        "duration": spread(agent.spread.as_ref()),
        "pace": number(agent.pace),
        "sentBack": share(agent.sent_back),
        "rejects": share(agent.rejects),
    })
}

fn tag(tag: &TagStats) -> Value {
    json!({
        "tag": tag.tag,
        "leadTime": spread(tag.lead.as_ref()),
        "rejections": share(tag.rejections),
        "passes": loops(&tag.loops),
    })
}

fn week(week: &Week) -> Value {
    json!({
        "from": time(week.from).to_string(),
        "until": time(week.until).to_string(),
        "created": week.created,
        "completed": week.completed,
        "leadTime": spread(week.lead.as_ref()),
        "rejections": share(week.rejections),
    })
}
