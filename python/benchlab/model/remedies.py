"""What can be done about what a server or the engine says, where that is not plain.

Absent: the saying of it.
"""

from collections.abc import Mapping

_POSTGRESQL = " (set PGPASSWORD, or give the password in ~/.pgpass or the service of PGSERVICE)"
_MYSQL = " (set MYSQL_PWD, or give the password in ~/.my.cnf)"
_REDIS = " (give its password by REDISCLI_AUTH, or in the URL as ${env:NAME})"
_LDAP = " (give its password by LDAPPASSWORD, or in the URL as ${env:NAME})"

REMEDIES: Mapping[str, str] = {
    "TLS: invalid peer certificate": " (trust its maker by `tls: {ca: FILE}` of the system, or "
    "take any certificate by `tls: {verify: false}`, in `try` by --insecure)",
    "the server wants a password": _POSTGRESQL,
    "password authentication failed": _POSTGRESQL,
    "(using password: ": _MYSQL,
    "NOAUTH": _REDIS,
    "WRONGPASS": _REDIS,
    "invalidCredentials": _LDAP,
    "inappropriateAuthentication": _LDAP,
    "CLIENT_ERROR unauthenticated": " (set MEMCACHED_PASSWORD, and name the user in the URL)",
}
"""By words of what the engine or the server says."""


def with_remedy(message: str) -> str:
    """The message, and what can be done where that is not plain."""
    found = (remedy for words, remedy in REMEDIES.items() if words in message)
    return message + next(found, "")
