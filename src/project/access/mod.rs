//! Who may come in over HTTP: agents by their tokens, people by their passwords.

pub(crate) mod agent_tokens;
#[cfg_attr(not(test), expect(dead_code, reason = "the web server calls it"))]
pub(crate) mod login_limiter;
#[cfg_attr(not(test), expect(dead_code, reason = "the web server calls it"))]
pub(crate) mod web_users;
