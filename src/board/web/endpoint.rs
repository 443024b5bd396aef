//! Addresses that servers listen at.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// A listening socket; requests are not yet answered.
#[derive(Debug)]
pub(crate) struct BoundServer {
    pub(super) listener: TcpListener,
    pub address: SocketAddr,
}

/// The problem with an address that has no endpoint, and its fix.
#[derive(Debug)]
pub(crate) struct EndpointFault {
    pub problem: String,
    pub fix: &'static str,
}

/// Returns the address if it is a host and a port, as `127.0.0.1:9464`. Port 0 stands for any free port.
pub(crate) fn address(given: &str) -> Result<String, String> {
    let is_host = |host: &str| !host.is_empty() && (!host.contains(':') || host.starts_with('['));
    match given.rsplit_once(':') {
        Some((host, port)) if is_host(host) && port.parse::<u16>().is_ok() => Ok(given.to_owned()),
        _ => Err("write it as `HOST:PORT`: `127.0.0.1:9464`, `[::1]:9464`".to_owned()),
    }
}

impl BoundServer {
    /// Starts to listen; requests are not yet answered.
    pub(crate) fn bind(given: &str) -> Result<Self, EndpointFault> {
        let addresses = given.to_socket_addrs().map_err(|cause| EndpointFault {
            problem: format!("`{given}` cannot be found: {cause}"),
            fix: "name this machine, or give a number: `127.0.0.1:9464`",
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let bound = TcpListener::bind(&addresses[..]);
        let bound = bound.and_then(|listener| {
            // The server waits for clients without a thread for each.
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = bound.map_err(|cause| EndpointFault {
            problem: format!("cannot listen at `{given}`: {}", cause.kind()),
            fix: match cause.kind() {
                ErrorKind::AddrInUse => {
                    "another program listens there: choose another port, or stop that one; `aof serve --link` prints a link to a server that runs"
                }
                ErrorKind::PermissionDenied => {
                    "ports below 1024 are the system's: choose one above, such as 9464"
                }
                ErrorKind::AddrNotAvailable => {
                    "this machine has no such address: `127.0.0.1:9464` is only for this machine, `0.0.0.0:9464` for all"
                }
                _ => "choose another address, such as `127.0.0.1:9464`",
            },
        })?;
        Ok(Self { listener, address })
    }

    /// Returns true if other machines may reach the server.
    pub(crate) fn is_exposed(&self) -> bool {
        !self.address.ip().is_loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_is_refused_with_the_fix() {
        let fault = |given: &str| {
            let fault = BoundServer::bind(given).unwrap_err();
            format!("{}: {}", fault.problem, fault.fix)
        };
        for malformed in [
            "",
            "9464",
            ":9464",
            "localhost",
            "localhost:",
            "localhost:x",
            "localhost:70000",
            "::1:9464",
        ] {
            assert!(address(malformed).is_err(), "{malformed}");
        }
        assert!(fault("192.0.2.1:9464").contains("this machine has no such address"));
        let first = BoundServer::bind("127.0.0.1:0").unwrap();
        let taken = fault(&first.address.to_string());
        assert!(taken.contains("another program listens there"), "{taken}");
        assert!(BoundServer::bind("0.0.0.0:0").unwrap().is_exposed());
    }
}
