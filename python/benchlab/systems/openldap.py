"""OpenLDAP's slapd, one server over an LMDB database; `settings` are directives of that database.

Entries are below `dc=bench`; `cn=admin` there logs in by a random password and is bound by no
limits. Attributes `uid` and `cn` are indexed. Absent: replicas, and its configuration as entries.
"""

import socket

from benchlab.model.secrets import MENTION
from benchlab.systems import ldap
from benchlab.systems.counters import openldap as counters
from benchlab.systems.members import ServerKind
from benchlab.systems.reach import ANSWER_S, NotReadyError
from benchlab.systems.server import Bed, Recipe

BASE = "dc=bench"
ADMIN = f"cn=admin,{BASE}"
CONFIGURATION = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
sizelimit unlimited
database monitor
database mdb
suffix {base}
rootdn {admin}
rootpw {password}
directory {folder}/data
index objectClass,uid,cn eq
{settings}
"""
FIRST = f"""dn: {BASE}
objectClass: dcObject
objectClass: organization
dc: bench
o: bench
"""


def recipe(bed: Bed) -> Recipe:
    """A configuration file, and a first entry that all others are below."""
    settings = {"maxsize": str(1 << 30), **bed.settings}
    configuration = CONFIGURATION.format(
        folder=bed.folder,
        base=BASE,
        admin=ADMIN,
        password=bed.password,
        settings="\n".join(f"{name} {value}" for name, value in settings.items()),
    )
    # Where the machine keeps slapd to its own folders, it knows it by its path.
    slapd, conf = f"{bed.folder}/slapd", f"{bed.folder}/slapd.conf"

    def answers() -> None:
        try:
            with socket.create_connection(("127.0.0.1", bed.port), ANSWER_S) as there:
                there.sendall(ldap.bind(ADMIN, bed.password))
                said = there.recv(1000)
        except OSError as error:
            raise NotReadyError(f"nobody answers ({error.strerror or error})") from error
        if ldap.SUCCESS not in said:
            raise NotReadyError(f"it does not let its administrator in: {said!r}")

    return Recipe(
        prepare=[
            ["cp", bed.program("slapd"), slapd],
            [slapd, "-T", "add", "-f", conf, "-l", f"{bed.folder}/first.ldif"],
        ],
        start=[slapd, "-f", conf, "-h", f"ldap://127.0.0.1:{bed.port}/", "-d", "0"],
        files={"slapd.conf": configuration, "first.ldif": FIRST, "data/.keep": ""},
        answers=answers,
        data="data",
    )


KIND = ServerKind(
    summary="OpenLDAP, one server",
    needs=("slapd",),
    url=f"ldap://{ADMIN}:{MENTION}@127.0.0.1:${{port}}/{BASE}",
    recipe=recipe,
    counters=counters.COUNTING,
)
