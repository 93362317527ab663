//! The server to connect to: a server at a fixed address, the current primary according to a Sentinel, or the cluster
//! node that holds the server's keys, which are all in one slot.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind,
    IntoConnectionInfo as _, ProtocolVersion, RedisResult, ServerErrorKind, cmd,
};

use crate::error::RedisError;

const SENTINEL_PORT: &str = "26379";
const REDIS_PORT: &str = "6379";

#[derive(Debug)]
pub(crate) enum RedisLocation {
    /// This server.
    Fixed(ConnectionInfo),
    /// The primary that these sentinels know by this name. The last value has the primary's credentials.
    Sentinel(Vec<ConnectionInfo>, String, ConnectionInfo),
    /// The cluster node that has this key. Any of the listed nodes can identify it.
    Cluster(Vec<ConnectionInfo>, String),
}

impl RedisLocation {
    /// Reads an address. `key` is one of the server's keys.
    pub(crate) fn parse(url: &str, key: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (plain, is_cluster) = match scheme {
            "redis-sentinel" => ("redis", false),
            "rediss-sentinel" => ("rediss", false),
            "redis-cluster" => ("redis", true),
            "rediss-cluster" => ("rediss", true),
            _ => return connection_info(url).map(Self::Fixed),
        };
        let (rest, name) = match rest.split_once('#') {
            Some((rest, name)) => (rest, Some(name)),
            None => (rest, None),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (format!("{user}@"), hosts),
            None => (String::new(), authority),
        };
        let (port, user_of_hosts) = if is_cluster {
            (REDIS_PORT, &*user)
        } else {
            // The credentials are for the primary.
            (SENTINEL_PORT, "")
        };
        let host = |host: &str| {
            let has_port = host
                .rsplit_once(':')
                .is_some_and(|(_, port)| !port.ends_with(']'));
            let port = if has_port {
                String::new()
            } else {
                format!(":{port}")
            };
            connection_info(&format!("{plain}://{user_of_hosts}{host}{port}"))
        };
        let hosts: Option<Vec<_>> = hosts.split(',').map(host).collect();
        let hosts = hosts?;
        match name.filter(|name| !name.is_empty()) {
            None if is_cluster && database.is_empty() => Some(Self::Cluster(hosts, key.to_owned())),
            Some(name) if !is_cluster => {
                let first = hosts.first()?.addr().clone();
                let primary = connection_info(&format!("{plain}://{user}primary/{database}"))?;
                Some(Self::Sentinel(
                    hosts,
                    name.to_owned(),
                    primary.set_addr(first),
                ))
            }
            _ => None,
        }
    }

    /// Returns a description without credentials.
    pub(crate) fn address(&self) -> String {
        let list = |hosts: &[ConnectionInfo]| {
            let hosts = hosts.iter().map(|host| host.addr().to_string());
            hosts.collect::<Vec<_>>().join(",")
        };
        match self {
            Self::Fixed(info) => info.addr().to_string(),
            Self::Sentinel(hosts, name, _) => format!("{name} of the sentinels {}", list(hosts)),
            Self::Cluster(hosts, _) => format!("{} (cluster)", list(hosts)),
        }
    }

    #[cfg(feature = "tls")]
    pub(crate) fn uses_tls(&self) -> bool {
        let (Self::Fixed(info) | Self::Sentinel(_, _, info)) = self else {
            let Self::Cluster(hosts, _) = self else {
                return false;
            };
            return hosts.iter().any(is_tls);
        };
        is_tls(info)
    }

    /// Returns the server to connect to now. Each Sentinel or node that has to be queried may take up to `limit` to
    /// answer.
    pub(crate) async fn find(&self, limit: Duration) -> Result<ConnectionInfo, RedisError> {
        let (hosts, mut failure) = match self {
            Self::Fixed(info) => return Ok(info.clone()),
            Self::Sentinel(hosts, ..) | Self::Cluster(hosts, _) => (hosts, None),
        };
        for host in hosts {
            let asked = match self {
                Self::Sentinel(_, name, primary) => ask_sentinel(host, name, primary, limit).await,
                _ => self.ask_node(host, limit).await,
            };
            match asked {
                Ok(Some(info)) => return Ok(info),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        let address = self.address();
        Err(failure.map_or_else(
            || RedisError::text(format!("no primary is known at {address}")),
            |error| RedisError::of(&address, &error),
        ))
    }

    /// Returns `false` if a server that a Sentinel named as the primary is no longer the primary.
    pub(crate) async fn is_primary(&self, connection: &mut MultiplexedConnection) -> bool {
        if !matches!(self, Self::Sentinel(..)) {
            return true;
        }
        // A sentinel can name a primary that has just been replaced.
        let role: RedisResult<Vec<redis::Value>> = cmd("ROLE").query_async(connection).await;
        let is_primary = |role: &redis::Value| {
            let name = redis::from_redis_value_ref::<String>(role);
            name.is_ok_and(|name| name == "master")
        };
        // If the user is not allowed to query the role, the first write reports the problem.
        role.map_or(true, |role| role.first().is_some_and(is_primary))
    }

    /// Queries a cluster node for the key and returns the node that holds it.
    async fn ask_node(
        &self,
        node: &ConnectionInfo,
        limit: Duration,
    ) -> RedisResult<Option<ConnectionInfo>> {
        let Self::Cluster(_, key) = self else {
            return Ok(None);
        };
        let mut connection = connect(node, limit).await?;
        let asked: RedisResult<u64> = cmd("EXISTS").arg(key).query_async(&mut connection).await;
        let Err(error) = asked else {
            return Ok(Some(node.clone()));
        };
        if error.kind() != ErrorKind::Server(ServerErrorKind::Moved) {
            return Err(error);
        }
        let moved = error
            .redirect_node()
            .and_then(|(address, _)| address.rsplit_once(':'));
        let Some((host, port)) = moved.and_then(|(host, port)| Some((host, port.parse().ok()?)))
        else {
            return Err(error);
        };
        Ok(Some(at(node, host, port)))
    }
}

/// Asks a sentinel for the current primary. Returns `None` if the sentinel does not know a primary with this name.
async fn ask_sentinel(
    sentinel: &ConnectionInfo,
    name: &str,
    primary: &ConnectionInfo,
    limit: Duration,
) -> RedisResult<Option<ConnectionInfo>> {
    let mut connection = connect(sentinel, limit).await?;
    let mut ask = cmd("SENTINEL");
    ask.arg("GET-MASTER-ADDR-BY-NAME").arg(name);
    let known: Option<(String, u16)> = ask.query_async(&mut connection).await?;
    Ok(known.map(|(host, port)| at(primary, &host, port)))
}

async fn connect(info: &ConnectionInfo, limit: Duration) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(limit))
        .set_response_timeout(Some(limit));
    let client = Client::open(info.clone())?;
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

/// Returns the connection information with a different port and, unless `host` is empty, a different host.
fn at(info: &ConnectionInfo, host: &str, port: u16) -> ConnectionInfo {
    let mut addr = info.addr().clone();
    match &mut addr {
        ConnectionAddr::Tcp(known, known_port)
        | ConnectionAddr::TcpTls {
            host: known,
            port: known_port,
            ..
        } => {
            if !host.is_empty() {
                host.clone_into(known);
            }
            *known_port = port;
        }
        _ => {}
    }
    info.clone().set_addr(addr)
}

fn connection_info(url: &str) -> Option<ConnectionInfo> {
    let info = url.into_connection_info().ok()?;
    // With this protocol, unsolicited messages arrive on the same connection.
    let settings = info.redis_settings().clone();
    Some(info.set_redis_settings(settings.set_protocol(ProtocolVersion::RESP3)))
}

#[cfg(feature = "tls")]
fn is_tls(info: &ConnectionInfo) -> bool {
    matches!(info.addr(), ConnectionAddr::TcpTls { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_servers_and_no_credentials() {
        for (url, address) in [
            ("redis://u:secret@h:1/2", "h:1"),
            ("unix:///run/redis.sock", "/run/redis.sock"),
            (
                "redis-sentinel://u:secret@a,b:2#p",
                "p of the sentinels a:26379,b:2",
            ),
            ("redis-sentinel://a/3#p", "p of the sentinels a:26379"),
            ("redis-cluster://:secret@a:1,b", "a:1,b:6379 (cluster)"),
            ("redis-cluster://[::1]:1,[::2]", "::1:1,::2:6379 (cluster)"),
        ] {
            let location = RedisLocation::parse(url, "{mcp}:").unwrap();
            assert_eq!(location.address(), address, "{url}");
        }
        for url in [
            "",
            "redis:secret@",
            "redis-sentinel://a",
            "redis-sentinel://a#",
            "redis-sentinel://#p",
            "redis-cluster://a/1",
            "redis-cluster://a#p",
            "redis-cluster://",
            "http://a",
        ] {
            assert!(RedisLocation::parse(url, "{mcp}:").is_none(), "{url}");
        }
    }
}
