//! The versions of the protocol, and how a request names its version.

use serde_json::{Value, json};

use super::json_rpc::{INVALID_PARAMS, RpcError, RpcRequest, UNSUPPORTED_VERSION};

/// The versions in which a conversation begins with `initialize`, oldest first.
const HANDSHAKE_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", NEWEST_HANDSHAKE];
pub(crate) const NEWEST_HANDSHAKE: &str = "2025-11-25";
/// The version in which each request names its version itself, in `_meta`.
pub(crate) const SELF_CONTAINED: &str = "2026-07-28";
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The beginning of the conversation, which decides whether requests name their version.
pub(crate) enum Lifecycle {
    NotBegun,
    /// The conversation began with `initialize`, which fixed the version.
    Handshake(&'static str),
    /// The conversation began with a request that names its version, as every later one does.
    SelfContained,
}

impl Lifecycle {
    /// Returns the protocol version of a request. Fails if it is missing or not supported.
    pub(crate) fn version_of(&mut self, request: &RpcRequest) -> Result<&'static str, RpcError> {
        let meta = request.object("_meta")?;
        let named = meta.get(META_VERSION).and_then(Value::as_str);
        let is_self_contained = named.is_some_and(|named| named >= SELF_CONTAINED);
        if request.method == "initialize" && !is_self_contained {
            let asked = request.text("protocolVersion")?;
            let version = HANDSHAKE_VERSIONS.into_iter().find(|version| *version == asked);
            let version = version.unwrap_or(NEWEST_HANDSHAKE);
            *self = Self::Handshake(version);
            return Ok(version);
        }
        let is_discovery = request.method == "server/discover";
        let agreed = match self {
            Self::NotBegun if request.method == "ping" => Some(NEWEST_HANDSHAKE),
            Self::Handshake(version) if !is_discovery => Some(*version),
            _ => None,
        };
        if agreed.is_none() || is_self_contained {
            let has_capabilities = meta.get(META_CAPABILITIES).is_some_and(Value::is_object);
            let missing = [(META_VERSION, named.is_some()), (META_CAPABILITIES, has_capabilities)];
            let missing = missing.iter().filter(|(_, is_there)| !is_there).map(|(name, _)| *name);
            let missing: Vec<&str> = missing.collect();
            if !missing.is_empty() {
                let missing = missing.join(", ");
                let problem =
                    format!("request _meta is missing or has malformed required fields: {missing}");
                return Err(RpcError::new(INVALID_PARAMS, problem));
            }
        }
        let version = match (named, agreed) {
            (None, Some(agreed)) => agreed,
            (named, _) => supported(named.unwrap_or_default())?,
        };
        if matches!(self, Self::NotBegun) && agreed.is_none() && !is_discovery {
            *self = Self::SelfContained;
        }
        Ok(version)
    }
}

pub(crate) fn all_versions() -> impl Iterator<Item = &'static str> {
    HANDSHAKE_VERSIONS.into_iter().chain([SELF_CONTAINED])
}

pub(crate) fn supported(named: &str) -> Result<&'static str, RpcError> {
    all_versions().find(|version| *version == named).ok_or_else(|| {
        let supported: Vec<&str> = all_versions().collect();
        RpcError::new(UNSUPPORTED_VERSION, "Unsupported protocol version")
            .with_data(json!({"requested": named, "supported": supported}))
    })
}
