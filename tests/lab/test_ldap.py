"""A real OpenLDAP through the whole lab: started, loaded, asked, beside the null server."""

from collections.abc import Callable
from pathlib import Path

import pytest
from labs import new_run, shorten_null_runs

from benchlab.judge.run import judge_run
from benchlab.lab.run import execute
from benchlab.lab.stopping import StopToken
from benchlab.model.cases import cases

pytestmark = pytest.mark.real

DIRECTORY = """
experiment: directory
systems:
  openldap:
    kind: command
    start: sh ${dir}/start SLAPD ${dir} ${port}
    files:
      start: |
        set -e
        mkdir -p $2/conf $2/db
        cp $1 $2/slapd
        $2/slapd -T add -n 0 -F $2/conf -l $2/config.ldif
        $2/slapd -T add -q -b dc=lab -F $2/conf -l $2/content.ldif
        exec $2/slapd -d 0 -F $2/conf -h ldap://127.0.0.1:$3/
      config.ldif: |
        dn: cn=config
        objectClass: olcGlobal
        cn: config

        dn: cn=module{0},cn=config
        objectClass: olcModuleList
        cn: module{0}
        olcModulePath: /usr/lib/ldap
        olcModuleLoad: back_mdb

        dn: cn=schema,cn=config
        objectClass: olcSchemaConfig
        cn: schema

        include: file:///etc/ldap/schema/core.ldif

        include: file:///etc/ldap/schema/cosine.ldif

        dn: olcDatabase={1}mdb,cn=config
        objectClass: olcDatabaseConfig
        objectClass: olcMdbConfig
        olcDatabase: {1}mdb
        olcSuffix: dc=lab
        olcRootDN: cn=admin,dc=lab
        olcRootPW: ${env:PW}
        olcDbDirectory: ${dir}/db
        olcDbMaxSize: 1073741824
        olcDbIndex: uid eq
        olcDbNoSync: TRUE
      content.ldif: |
        dn: dc=lab
        objectClass: dcObject
        objectClass: organization
        dc: lab
        o: lab
    url: ldap://cn=admin,dc=lab:${env:PW}@127.0.0.1:${port}/dc=lab
workload:
  name: records
  options: {read: 50%, read_many: 10%, update: 20%, insert: 10%, read_modify_write: 10%}
  data: {records: 2000}
load: {clients: 16, pipeline: 4, duration: 1s, warmup: 0.5s}
allow: {steal: 50%}
sessions: 2
blocks: 1
"""


def test_a_directory_is_measured_and_its_answers_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Callable[[str], str]
) -> None:
    # The server is not among the programs of everybody's path.
    monkeypatch.setenv("PATH", "/usr/sbin", prepend=":")
    slapd = program("slapd")
    monkeypatch.setenv("PW", "hush-hush")
    shorten_null_runs(monkeypatch.setattr)
    text = DIRECTORY.replace("SLAPD", slapd)
    experiment, run = new_run(text, tmp_path / "run")
    execute(experiment, cases(experiment), run, emit=lambda event: None, stop=StopToken())
    case = judge_run(experiment, cases(experiment), run).summary.cases[0]
    rows = {check.name: check for check in case.checks}
    assert rows["answers"].verdict == "valid", rows["answers"]
    assert case.metrics["errors"].estimate == 0
    assert rows["floor"].figure is not None
    assert case.metrics["throughput"].validity == "valid", rows
    assert set(case.operations) == {"read", "read_many", "update", "insert"}
    kept = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert not [path for path in kept if b"hush-hush" in path.read_bytes()]
