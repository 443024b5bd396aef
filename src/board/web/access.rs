//! Access to the server: a link that counts once, a cookie, and protection from other web sites.
//!
//! Only a key in a private file is kept: links, cookies and form tokens are texts with a code (HMAC, RFC 2104) that only
//! the key can make. So a browser stays logged in when the server is restarted.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::domain::{AgentId, Timestamp};
use crate::storage::StoreError;
use crate::storage::random::random_local;

/// The time for which a link can be used, in seconds.
const LINK_LIFETIME: i64 = 600;
/// The time for which a browser stays logged in, in seconds.
const COOKIE_LIFETIME: i64 = 30 * 86_400;
/// The number of characters of the key: too many for any search.
const KEY_LENGTH: usize = 50;

/// The address of a server, and the key of its links. The file is private to the account: a reader of it can log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServeFile {
    /// The URL, as in `http://localhost:7420`.
    pub url: String,
    /// The address that the server listens at.
    pub address: SocketAddr,
    pub key: String,
    /// True if people log in by name: then there are no links.
    pub by_name: bool,
}

impl ServeFile {
    /// Returns the file of a server at that URL; it keeps the key of the last one.
    pub(crate) fn at(
        url: String,
        address: SocketAddr,
        last: Option<Self>,
    ) -> Result<Self, StoreError> {
        let key = last.map(|last| last.key).filter(|key| key.len() == KEY_LENGTH);
        let key = key.map_or_else(|| random_local(KEY_LENGTH), Ok)?;
        Ok(Self { url, address, key, by_name: false })
    }
}

/// The rights that a link gives to a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkKind {
    /// All that the owner of the board may do.
    Acts,
    Looks,
}

impl LinkKind {
    const ALL: [Self; 2] = [Self::Acts, Self::Looks];

    /// Returns the purpose that the link's code is made for.
    const fn purpose(self) -> &'static str {
        match self {
            Self::Acts => "link",
            Self::Looks => "link to look",
        }
    }

    /// Returns the subject of the visitors that the link lets in. The subject of a login has a line break in it.
    const fn subject(self) -> &'static str {
        match self {
            Self::Acts => "",
            Self::Looks => "look",
        }
    }
}

/// Returns a link that logs a browser in, once, within ten minutes.
pub(crate) fn fresh_link(
    file: &ServeFile,
    kind: LinkKind,
    now: Timestamp,
) -> Result<String, StoreError> {
    let codes = Codes::of(&file.key);
    let claim = format!("{}.{}", now.as_second() + LINK_LIFETIME, random_local(16)?);
    Ok(format!("{}/login?token={claim}.{}", file.url, codes.code(kind.purpose(), &claim)))
}

/// Makes and checks the codes of texts.
struct Codes(Hmac<Sha256>);

impl Codes {
    fn of(key: &str) -> Self {
        Self(Hmac::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length"))
    }

    fn mac(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(purpose).chain_update("\n").chain_update(text)
    }

    /// Returns the code of a text, which counts for one purpose only.
    fn code(&self, purpose: &str, text: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.mac(purpose, text).finalize().into_bytes())
    }

    fn is_right(&self, purpose: &str, text: &str, code: &str) -> bool {
        let Ok(code) = BASE64_URL_SAFE_NO_PAD.decode(code) else { return false };
        self.mac(purpose, text).verify_slice(&code).is_ok()
    }
}

/// A browser that is logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    /// The login where people log in by name; otherwise the kind of link used.
    pub subject: String,
    /// The token that the visitor's forms must contain: another web site cannot know it.
    pub form_token: String,
    /// The agent whose token was shown, in place of a login or a link.
    pub agent: Option<AgentId>,
}

impl Visitor {
    fn new(subject: String, form_token: String) -> Self {
        Self { subject, form_token, agent: None }
    }

    pub(crate) fn agent(agent: AgentId) -> Self {
        Self { agent: Some(agent), ..Self::new(String::new(), String::new()) }
    }

    /// Returns the kind of link that let the visitor in; `None` for a login.
    pub(crate) fn link(&self) -> Option<LinkKind> {
        LinkKind::ALL.into_iter().find(|kind| kind.subject() == self.subject)
    }
}

/// Returns the token that a program shows. Another web site cannot make a browser send it unasked, unlike a password.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    header.strip_prefix("Bearer ").map(str::trim)
}

/// Decides who may send requests.
pub(crate) struct Access {
    codes: Codes,
    /// The address that the server listens at.
    address: SocketAddr,
    /// The pages' origin behind a proxy, as in `https://board.example`.
    origin: Option<String>,
    /// The links that were used, by their code, with the time after which they are invalid anyway.
    used: Mutex<BTreeMap<String, i64>>,
}

impl Access {
    pub(crate) fn new(file: &ServeFile, address: SocketAddr, origin: Option<String>) -> Self {
        Self { codes: Codes::of(&file.key), address, origin, used: Mutex::default() }
    }

    /// Returns true if the request names this server as browsers do; another name may be a web site's that resolves to this machine.
    pub(crate) fn is_for_us(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "80"));
        let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&name);
        // If other machines are allowed, they may name the address.
        let is_address = !self.address.ip().is_loopback() && host.parse::<SocketAddr>().is_ok();
        (is_local || is_address) && port.parse() == Ok(self.address.port())
            || self.public_host() == Some(host)
    }

    /// Returns true if only this machine can connect.
    pub(crate) fn is_local(&self) -> bool {
        self.address.ip().is_loopback()
    }

    fn public_host(&self) -> Option<&str> {
        self.origin.as_ref()?.split_once("://").map(|(_, host)| host)
    }

    /// Returns true if a request that changes something is from a page of this server.
    pub(crate) fn is_own_page(
        &self,
        method: &Method,
        headers: &HeaderMap,
        is_for_agents: bool,
    ) -> bool {
        if matches!(*method, Method::GET | Method::HEAD) {
            return true;
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // MCP clients are not browsers: their token identifies them.
        let Some(origin) = text(ORIGIN) else { return is_for_agents };
        // The proxy's host counts only with the proxy's scheme.
        let page = text(HOST).filter(|host| self.public_host() != Some(host));
        let page = page.map(|host| format!("http://{host}"));
        page.as_deref() == Some(origin) || self.origin.as_deref() == Some(origin)
    }

    /// Uses up a link. Returns the cookie's text if the link is valid and was not used before.
    pub(crate) fn use_link(&self, token: &str, now: Timestamp) -> Option<String> {
        let (claim, code) = token.rsplit_once('.')?;
        let until = claim.split('.').next()?.parse::<i64>().ok()?;
        let is_right = |kind: &LinkKind| self.codes.is_right(kind.purpose(), claim, code);
        let kind = LinkKind::ALL.into_iter().find(is_right)?;
        if now.as_second() > until {
            return None;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, until| *until >= now.as_second());
        if used.insert(code.to_owned(), until).is_some() {
            return None;
        }
        self.cookie(kind.subject(), now).ok()
    }

    /// Returns the `Set-Cookie` of a browser that has just logged in.
    pub(crate) fn cookie(&self, login: &str, now: Timestamp) -> Result<String, StoreError> {
        let login = BASE64_URL_SAFE_NO_PAD.encode(login);
        let until = now.as_second() + COOKIE_LIFETIME;
        let claim = format!("{login}.{until}.{}", random_local(16)?);
        let code = self.codes.code("cookie", &claim);
        Ok(self.set_cookie(&format!("{claim}.{code}"), COOKIE_LIFETIME))
    }

    /// Returns the `Set-Cookie` that logs a browser out.
    pub(crate) fn no_cookie(&self) -> String {
        self.set_cookie("", 0)
    }

    fn set_cookie(&self, value: &str, seconds: i64) -> String {
        let name = self.cookie_name();
        let is_public = self.origin.as_ref().is_some_and(|origin| origin.starts_with("https:"));
        let secure = if is_public { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }

    /// Returns the name of the cookie. Ports of one host share their cookies, so the name has the port.
    fn cookie_name(&self) -> String {
        format!("aof-{}", self.address.port())
    }

    /// Returns the visitor that a proxy names.
    pub(crate) fn visitor_of_proxy(&self, subject: String) -> Visitor {
        let form_token = self.codes.code("form", &subject);
        Visitor::new(subject, form_token)
    }

    /// Returns the visitor, or `None` if no one is logged in.
    pub(crate) fn visitor(&self, headers: &HeaderMap, now: Timestamp) -> Option<Visitor> {
        let cookie = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split("; ")).filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(name, _)| *name == cookie)?;
        let (claim, code) = value.rsplit_once('.')?;
        let [login, until, _] = claim.split('.').collect::<Vec<_>>()[..] else { return None };
        let is_valid = self.codes.is_right("cookie", claim, code)
            && until.parse::<i64>().is_ok_and(|until| now.as_second() <= until);
        let login = BASE64_URL_SAFE_NO_PAD.decode(login).ok().filter(|_| is_valid)?;
        let login = String::from_utf8(login).ok()?;
        Some(Visitor::new(login, self.codes.code("form", claim)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    const NOW: i64 = 1_800_000_000;
    const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn access() -> (ServeFile, Access) {
        let file = ServeFile::at("http://localhost:7420".to_owned(), HERE, None).unwrap();
        let access = Access::new(&file, HERE, None);
        (file, access)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_link_counts_once_and_not_for_ever() {
        let (file, access) = access();
        let link = fresh_link(&file, LinkKind::Acts, at(NOW)).unwrap();
        let token = link.strip_prefix("http://localhost:7420/login?token=").unwrap();
        assert!(access.use_link(token, at(NOW + 1)).is_some());
        assert!(access.use_link(token, at(NOW + 2)).is_none(), "it was used");
        let late = fresh_link(&file, LinkKind::Acts, at(NOW)).unwrap();
        let late = late.split_once('=').unwrap().1;
        assert!(access.use_link(late, at(NOW + LINK_LIFETIME + 1)).is_none(), "it is too old");
        let later = late.replacen("18000", "18001", 1);
        assert!(access.use_link(&later, at(NOW)).is_none(), "its time was changed");
    }

    #[test]
    fn a_browser_that_came_to_look_only_looks() {
        let (file, access) = access();
        for kind in LinkKind::ALL {
            let link = fresh_link(&file, kind, at(NOW)).unwrap();
            let set = access.use_link(link.split_once('=').unwrap().1, at(NOW)).unwrap();
            let pair = set.split(';').next().unwrap();
            let seen = access.visitor(&headers(&[("cookie", pair)]), at(NOW)).unwrap();
            assert_eq!(seen.link(), Some(kind));
        }
    }

    #[test]
    fn a_cookie_is_valid_after_a_restart_and_cannot_be_made_up() {
        let (file, access) = access();
        let set = access.cookie("ann", at(NOW)).unwrap();
        assert!(
            set.starts_with("aof-7420=") && set.contains("; HttpOnly; SameSite=Strict;"),
            "{set}"
        );
        let pair = set.split(';').next().unwrap();
        let again = ServeFile::at("http://localhost:7420".to_owned(), HERE, Some(file)).unwrap();
        let access = Access::new(&again, HERE, None);
        let seen = |line: &str| access.visitor(&headers(&[("cookie", line)]), at(NOW + 5));
        assert_eq!(seen(&format!("other=1; {pair}")).unwrap().subject, "ann");
        let bob = BASE64_URL_SAFE_NO_PAD.encode("bob");
        let ann = BASE64_URL_SAFE_NO_PAD.encode("ann");
        assert_eq!(seen(&pair.replace(&ann, &bob)), None);
        assert_eq!(seen("aof-7420=..."), None);
        let late = at(NOW + COOKIE_LIFETIME + 1);
        assert_eq!(access.visitor(&headers(&[("cookie", pair)]), late), None);
    }

    #[test]
    fn other_names_and_other_sites_are_turned_away() {
        let (file, access) = access();
        for (host, expected) in [
            ("localhost:7420", true),
            ("127.0.0.1:7420", true),
            ("[::1]:7420", true),
            ("localhost:80", false),
            ("rebound.example:7420", false),
            ("", false),
        ] {
            assert_eq!(access.is_for_us(&headers(&[("host", host)])), expected, "{host}");
        }
        let is_own = |origin: &str| {
            let headers = headers(&[("host", "localhost:7420"), ("origin", origin)]);
            access.is_own_page(&Method::POST, &headers, false)
        };
        assert!(is_own("http://localhost:7420"));
        for foreign in
            ["http://localhost:7421", "https://localhost:7420", "null", "http://evil.example"]
        {
            assert!(!is_own(foreign), "{foreign}");
        }
        let none = headers(&[("host", "localhost:7420")]);
        assert!(
            !access.is_own_page(&Method::POST, &none, false)
                && access.is_own_page(&Method::GET, &none, false)
        );
        let proxied = Access::new(&file, HERE, Some("https://board.example".to_owned()));
        assert!(proxied.is_for_us(&headers(&[("host", "board.example")])));
        for (origin, expected) in [("https://board.example", true), ("http://board.example", false)]
        {
            let headers = headers(&[("host", "board.example"), ("origin", origin)]);
            assert_eq!(proxied.is_own_page(&Method::POST, &headers, false), expected, "{origin}");
        }
        assert!(proxied.cookie("", at(NOW)).unwrap().ends_with("; Secure"));
    }
}
