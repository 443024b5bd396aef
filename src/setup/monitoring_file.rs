//! What makes something of the metrics: alerts, a dashboard, a runbook, as a project gets them.

/// A file of `monitoring/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MonitoringFile {
    /// What Prometheus scrapes.
    Scrape,
    /// The alerts.
    Rules,
    /// The dashboard.
    Dashboard,
    /// What each alert means.
    Runbook,
}

impl MonitoringFile {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Scrape, Self::Rules, Self::Dashboard, Self::Runbook];

    /// Returns where it goes.
    pub(crate) const fn place(self) -> &'static str {
        match self {
            Self::Scrape => "monitoring/prometheus.yml",
            Self::Rules => "monitoring/aof.rules.yml",
            Self::Dashboard => "monitoring/aof-dashboard.json",
            Self::Runbook => "monitoring/runbook.md",
        }
    }

    /// Returns what it is, in a few words.
    pub(crate) const fn what(self) -> &'static str {
        match self {
            Self::Scrape => "what Prometheus scrapes, to begin with",
            Self::Rules => "the alerts",
            Self::Dashboard => "the dashboard, for Grafana",
            Self::Runbook => "what each alert means, and what to do",
        }
    }

    /// Returns what it says. In a project the runbook lies beside the alerts, and the rest of the manual nowhere.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Scrape => include_str!("../../monitoring/prometheus.yml").to_owned(),
            Self::Rules => include_str!("../../monitoring/aof.rules.yml")
                .replace("docs/guides/runbook.md", Self::Runbook.place()),
            Self::Dashboard => include_str!("../../monitoring/aof-dashboard.json").to_owned(),
            Self::Runbook => include_str!("../../docs/guides/runbook.md")
                .replace("../../monitoring/aof.rules.yml", "aof.rules.yml"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_leads_out_of_the_folder() {
        let runbook = MonitoringFile::Runbook.text();
        let links =
            runbook.match_indices("](").map(|(at, _)| runbook[at + 2..].split(')').next().unwrap());
        assert_eq!(links.collect::<Vec<_>>(), ["aof.rules.yml"]);
    }
}
