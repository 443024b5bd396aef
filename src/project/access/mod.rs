//! Access over HTTP: agents by their tokens, people by their passwords.

pub(crate) mod agent_tokens;
pub(crate) mod login_limiter;
pub(crate) mod web_users;
