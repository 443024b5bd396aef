//! The two ways of writing metrics, and which of them a client asks for.

/// A way of writing metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' own, version 0.0.4.
    Text,
    /// `OpenMetrics`, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// Returns the one that an `Accept` header asks for. Who asks for neither, or for anything, gets the older one.
    pub(crate) fn wanted(accept: &str) -> Self {
        let (mut open, mut text) = (0.0_f32, 0.0_f32);
        for offer in accept.split(',') {
            let mut parts = offer.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<(&str, &str)> =
                parts.filter_map(|part| part.split_once('=')).collect();
            let parameter = |name: &str| {
                let found =
                    parameters.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
                found.map(|(_, value)| value.trim().trim_matches('"'))
            };
            let weight = match parameter("q").map_or(Ok(1.0), str::parse::<f32>) {
                Ok(weight) if (0.0..=1.0).contains(&weight) => weight,
                _ => 0.0,
            };
            match kind.as_str() {
                "application/openmetrics-text"
                    if matches!(parameter("version"), None | Some("1.0.0")) =>
                {
                    open = open.max(weight);
                }
                "text/plain" | "text/*" | "*/*" => text = text.max(weight),
                _ => {}
            }
        }
        if open > 0.0 && open >= text { Self::OpenMetrics } else { Self::Text }
    }

    /// Returns what it is called in a `Content-Type` header.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_gets_what_it_likes_best() {
        for (accept, format) in [
            ("", Format::Text),
            ("*/*", Format::Text),
            ("text/plain", Format::Text),
            ("application/openmetrics-text", Format::OpenMetrics),
            (
                "Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8, */*;q=0.1",
                Format::OpenMetrics,
            ),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Format::OpenMetrics,
            ),
            ("application/openmetrics-text;q=0.4, text/plain;q=0.5", Format::Text),
            ("application/openmetrics-text;q=0", Format::Text),
            ("application/openmetrics-text;q=nan, text/html", Format::Text),
            ("application/openmetrics-text;version=2.0.0", Format::Text),
            (";;,=;q", Format::Text),
        ] {
            assert_eq!(Format::wanted(accept), format, "{accept}");
        }
    }
}
