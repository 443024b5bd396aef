//! Limits the rate of password attempts: for each login, and for each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::domain::Digest;

/// The number of failed attempts before there is a wait.
const FREE: u32 = 5;
/// The time for which failures are remembered, after the first of the free ones, and after each wait.
const WINDOW: Duration = Duration::from_mins(15);
/// The first wait; each failure after it doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_mins(15);
/// The most logins and addresses that are remembered.
const MOST: usize = 10_000;

/// The recent attempts to log in, for each login and each address.
#[derive(Debug, Default)]
pub(crate) struct LoginLimiter {
    attempts: HashMap<Digest, LoginAttempts>,
}

#[derive(Debug)]
struct LoginAttempts {
    failed: u32,
    /// The time when the next attempt is allowed.
    next: Instant,
    forgotten: Instant,
}

impl LoginLimiter {
    /// Counts an attempt as failed before its password is checked, so that parallel attempts are limited too. Fails with the time to
    /// wait if the password must not be checked; then the attempt does not count.
    pub(crate) fn admit(
        &mut self,
        login: &str,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Duration> {
        let keys = keys(login, address);
        let next = keys.iter().filter_map(|key| self.attempts.get(key)).map(|known| known.next);
        if let Some(next) = next.max().filter(|next| *next > now) {
            return Err(next - now);
        }
        for key in keys {
            if self.attempts.len() >= MOST && !self.attempts.contains_key(&key) {
                let first = self.attempts.iter().min_by_key(|(_, known)| known.forgotten);
                let first = first.map(|(key, _)| key.clone());
                first.map(|key| self.attempts.remove(&key));
            }
            let fresh = || LoginAttempts { failed: 0, next: now, forgotten: now + WINDOW };
            let known = self.attempts.entry(key).or_insert_with(fresh);
            if known.forgotten <= now {
                *known = fresh();
            }
            known.failed += 1;
            if let Some(doublings) = known.failed.checked_sub(FREE) {
                // Ten doublings exceed the longest wait.
                known.next = now + (FIRST_WAIT * (1 << doublings.min(10))).min(LONGEST_WAIT);
                known.forgotten = known.next + WINDOW;
            }
        }
        Ok(())
    }

    /// Forgets the failures of a login that has succeeded, but only this attempt of its address: knowing one password must not give
    /// more attempts at another.
    pub(crate) fn succeed(&mut self, login: &str, address: IpAddr, now: Instant) {
        let [login, address] = keys(login, address);
        self.attempts.remove(&login);
        if let Some(known) = self.attempts.get_mut(&address) {
            known.failed = known.failed.saturating_sub(1);
            known.next = now;
        }
    }
}

/// Returns the keys of a login and of an address; of IPv6 only the first 64 bits count, since one host can use all addresses below
/// them.
fn keys(login: &str, address: IpAddr) -> [Digest; 2] {
    let network = match address.to_canonical() {
        IpAddr::V6(address) => u128::from(address) >> 64 << 64,
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
    };
    [Digest::of(format!("login {login}").as_bytes()), Digest::of(&network.to_be_bytes())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds to wait at each of these attempts, all of which fail.
    fn waits(limiter: &mut LoginLimiter, login: &str, address: &str, at: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let address: IpAddr = address.parse().unwrap();
        let wait = |seconds: &u64| {
            let now = start + Duration::from_secs(*seconds);
            limiter.admit(login, address, now).map_or_else(|wait| wait.as_secs(), |()| 0)
        };
        at.iter().map(wait).collect()
    }

    #[test]
    fn after_five_failures_each_one_doubles_the_wait() {
        let table: &[(&[u64], &[u64])] = &[
            (&[0, 1, 2, 3, 4], &[0, 0, 0, 0, 0]),
            (&[0, 1, 2, 3, 4, 4, 14, 34], &[0, 0, 0, 0, 0, 30, 20, 0]),
            // Attempts that were not admitted do not count.
            (&[0, 0, 0, 0, 0, 1, 1, 1, 30, 30], &[0, 0, 0, 0, 0, 29, 29, 29, 0, 60]),
            (&[0, 0, 0, 0, 0, 30, 90, 210, 450, 930, 930], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 900]),
            // The first four are forgotten 15 minutes after the first.
            (&[0, 0, 0, 800, 900, 900, 900, 900, 900, 900], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 30]),
            // After a wait, they are remembered for 15 minutes more.
            (&[0, 0, 0, 0, 0, 929, 929], &[0, 0, 0, 0, 0, 0, 60]),
            (&[0, 0, 0, 0, 0, 930, 930], &[0, 0, 0, 0, 0, 0, 0]),
        ];
        for (at, expected) in table {
            let mut limiter = LoginLimiter::default();
            assert_eq!(waits(&mut limiter, "ann", "192.0.2.1", at), *expected, "{at:?}");
        }
    }

    #[test]
    fn a_login_and_an_address_are_counted_each() {
        for (login, address, waits_too) in [
            ("ann", "198.51.100.1", true),
            ("bob", "2001:db8::1", true),
            ("bob", "2001:db8::ffff:2", true),
            ("bob", "2001:db8:0:1::1", false),
            ("Ann", "198.51.100.1", false),
        ] {
            let mut limiter = LoginLimiter::default();
            let _ = waits(&mut limiter, "ann", "2001:db8::1", &[0; 5]);
            assert_eq!(
                waits(&mut limiter, login, address, &[0]) != [0],
                waits_too,
                "{login} {address}"
            );
        }
        let mut limiter = LoginLimiter::default();
        let _ = waits(&mut limiter, "ann", "192.0.2.1", &[0; 5]);
        assert_ne!(waits(&mut limiter, "bob", "::ffff:192.0.2.1", &[0]), [0]);
    }

    #[test]
    fn a_success_forgets_the_login_s_failures_but_not_the_address_s() {
        let mut limiter = LoginLimiter::default();
        let (address, now) = ("192.0.2.1".parse().unwrap(), Instant::now());
        for _ in 0..4 {
            assert_eq!(limiter.admit("ann", address, now), Ok(()));
        }
        // The fifth one, by another login, succeeds: the address has four failures as before.
        assert_eq!(limiter.admit("bob", address, now), Ok(()));
        limiter.succeed("bob", address, now);
        assert_eq!(limiter.admit("ann", address, now), Ok(()));
        assert_eq!(limiter.admit("ann", address, now), Err(FIRST_WAIT));
        assert_eq!(limiter.admit("carol", address, now), Err(FIRST_WAIT));
        limiter.succeed("ann", address, now);
        assert_eq!(limiter.admit("ann", "192.0.2.2".parse().unwrap(), now), Ok(()));
    }

    #[test]
    fn memory_is_bounded_and_waits_stay() {
        let mut limiter = LoginLimiter::default();
        let now = Instant::now();
        let _ = waits(&mut limiter, "ann", "192.0.2.1", &[0; 5]);
        for number in 0..u32::try_from(MOST / 2 + 20).unwrap() {
            let address = IpAddr::V4((0x0a00_0000 + number).into());
            assert_eq!(limiter.admit(&format!("login-{number}"), address, now), Ok(()));
            assert!(limiter.attempts.len() <= MOST);
        }
        assert!(limiter.admit("ann", "198.51.100.1".parse().unwrap(), now).is_err());
    }
}
