"""The gate's hard questions: no confidently wrong answer, and as few needless abstains as can be.

Expected: `name`, that record on top without a flag; `name?`, on top and a flag is allowed; `-`, an
abstain; `-reason`, an abstain for that reason. `~name`: an abstain or that record with a flag.
"""

import importlib
from typing import Any

import pytest

from braincore.model.outcomes import Abstain, Answer
from braincore.model.said import said
from braincore.recall.about import about
from braincore.recall.question import parse_question

TABLE = """
# wrong-number twins
staging port                                             | staging port
which port does staging listen on?                       | staging port?
which port does the staging API listen on?               | staging port
what is the staging port                                 | staging port
Is the staging port 8443?                                | staging port
does the staging API listen on port 8443                 | staging port
Is the staging port 8080?                                | -
does staging listen on 8080?                             | -
production port                                          | production port
which port does the production API use?                  | production port
what listens on port 8080?                               | production port?
which API is on port 8443?                               | ~staging port
port 9999                                                | -
api timeout                                              | api timeout
what is the API timeout?                                 | api timeout
do API requests time out after 30 s?                     | api timeout
do API requests time out after 30 seconds?               | api timeout
do API requests time out after 30s?                      | api timeout
do API requests time out after 90 s?                     | -
do API requests time out after 30 minutes?               | -
do API requests time out after 30 ms?                    | -
worker timeout                                           | worker timeout
when do worker jobs time out?                            | worker timeout
timeout                                                  | -
what times out after 90 s?                               | ~worker timeout
is the worker timeout 30 s?                              | -
billing API v1                                           | billing v1?
what does billing API v2 answer in?                      | billing v2?
does billing API v1 answer in JSON?                      | -
billing API v3                                           | -
ASR1603 firmware                                         | asr1603
which firmware do ASR1605 modems need?                   | asr1605
asr1605 firmware                                         | asr1605
ASR 1603 firmware                                        | ~asr1603
ASR1604 firmware                                         | -
which modems need firmware 4.2?                          | asr1603?
which modems need firmware 5.2?                          | -
# same name, other scope
what does User hold?                                     | -ambiguity_unresolved
User                                                     | -ambiguity_unresolved
what is the User class for?                              | -
a.py::User                                               | user a
what does a.py::User hold?                               | user a
what does b.py::User hold?                               | user b
what does the User class in b.py hold?                   | user b
which User holds the credentials of the console?         | -ambiguity_unresolved
what does c.py::User hold?                               | -
what does auth.GetUser cache?                            | get user
GetUser                                                  | get user
how long does GetUser cache profiles?                    | get user
how long does get_user cache profiles?                   | get user
how long does auth/user.py::GetUser cache profiles       | get user
does GetUser raise on unknown ids?                       | get user?
auth.GetUsers                                            | -
billing.GetUser                                          | -
# a mention is not the subject
is redis backed up?                                      | ~backup
is Redis backed up nightly?                              | ~backup
is postgres backed up nightly?                           | backup?
are backups of Redis encrypted?                          | -
redis                                                    | ~sessions
what is loaded in setup.ts?                              | jest?
who approves hotfixes?                                   | ~deploy
how many approvals do deploys need?                      | deploy
how many approvals do hotfixes need?                     | ~deploy
carts                                                    | -
# subject swap
how long do access tokens live?                          | access
how long do refresh tokens live?                         | refresh
do access tokens live 30 days?                           | -
do refresh tokens live 15 minutes?                       | -
how long do id tokens live?                              | -
how long do tokens live?                                 | -
react-native version                                     | -
what is react-native pinned to?                          | react
what is jest-native pinned to?                           | -
react native                                             | react
where are jest-native matchers loaded?                   | jest
where are react-native matchers loaded?                  | -
# type nouns and open slots
which database does the checkout service use?            | checkout
what database is behind the checkout service?            | checkout
checkout database                                        | checkout?
which queue does the checkout service use?               | -
which service keeps its carts in PostgreSQL?             | checkout?
which database does the payment service use?             | -
does the checkout service use MySQL?                     | -
who owns billing?                                        | owner?
who is the owner of billing?                             | owner
who is the owner of checkout?                            | -
what tool serves dashboards?                             | grafana?
what are dashboards served by?                           | grafana
are dashboards served by Kibana?                         | -
# decisions
why PostgreSQL for orders?                               | orders
why did we choose PostgreSQL for orders?                 | orders
why do we use postgresql for orders                      | orders
where are orders stored?                                 | orders
what did we decide about the orders store?               | orders
why MySQL for orders?                                    | orders
reasons for redis for sessions                           | sessions
where are sessions kept?                                 | sessions
why don't we use Memcached for sessions?                 | sessions
why was Memcached rejected?                              | sessions
why not GraphQL for the public API?                      | rest
why don't we use MongoDB?                                | orders
why do we use MongoDB for orders?                        | ~orders
why don't we use PostgreSQL for orders?                  | ~orders
why don't we use Kafka for orders?                       | -
why is the public API REST?                              | rest
why is the public API gRPC?                              | -
why PostgreSQL for invoices?                             | -
why Redis for orders?                                    | -
# failures
what broke with the connection pool shared by forked workers? | pool
connection pool                                          | pool
why did workers deadlock at start?                       | -
# yes/no and negation
should we retry a payment automatically?                 | payment
do we never retry a payment automatically?               | payment
is a payment ever retried?                               | payment
should we retry a refund automatically?                  | -
# spelling
where do Vue components live?                            | vue
where do VUE components live?                            | vue
where do vue components live?                            | vue
where do React components live?                          | -
why postgreSQL for orders                                | orders
PRODUCTION PORT                                          | production port
# other scripts
数据库端口是多少？                                          | chinese?
数据库端口                                                | chinese?
数据库密码是多少？                                          | -
测试服务器的操作系统是什么？                                  | chinese ubuntu?
生产服务器的操作系统是什么？                                  | -
какой порт слушает сервер отчётов?                       | russian?
порт сервера отчётов                                     | russian?
какой порт слушает сервер метрик?                        | -
# quoted
when does the build print "cache miss"?                  | cache?
when does the build print "cache hit"?                   | -
# who said it, and when
where do nightly builds run?                             | jenkins?
where are feature flags read from?                       | feature flags?
when is the search index rebuilt?                        | -unverified
are legacy clients refused?                              | -temporal_invalid
is the beta flag on?                                     | -temporal_invalid
how many nodes does the staging cluster have?            | -low_confidence
does Chrome ignore autocomplete?                         | -low_trust
# nothing on record
which port does the metrics API listen on?               | -no_accepted_facts
who won the world cup?                                   | -no_accepted_facts
what is the staging password?                            | -
how do I rotate the access token signing key?            | -
where are refresh tokens stored?                         | -
when are orders archived?                                | -
which region is staging in?                              | -
how are Vue components tested?                           | -
is the production API behind a CDN?                      | -
what is the retry limit of worker jobs?                  | -
"""


def rows() -> list[Any]:
    """The questions of the table with what is expected."""
    out = []
    for line in TABLE.splitlines():
        if line.strip() and not line.startswith("#"):
            question, _, expected = (part.strip() for part in line.rpartition("|"))
            out.append(pytest.param(question, expected, id=question))
    return out


def verdict(found: Answer | Abstain, expected: str, name_of: Any) -> str:
    """`` when as expected, else what happened."""
    wanted = expected.strip("~?-")
    match found:
        case Abstain(reason=reason):
            if expected.startswith("~") or (expected.startswith("-") and wanted in ("", reason)):
                return ""
            return f"abstained: {reason} {[(name_of(r.id), r.reason) for r in found.rejected]}"
        case Answer(facts=(top, *_)):
            name = name_of(top.record.id)
            said = f"{name} {top.flags} {top.fit}"
            if expected.startswith("-"):
                return f"answered {said}" + ("" if top.flags else " CONFIDENTLY")
            if name != wanted:
                return f"wrong: {said}" + ("" if top.flags else " CONFIDENTLY")
            if expected.startswith("~") and not top.flags:
                return f"too sure: {said} CONFIDENTLY"
            return "" if expected[-1] == "?" or expected[0] == "~" or not top.flags else said
    raise AssertionError(found)


def test_the_table_is_large() -> None:
    assert len(rows()) >= 90


@pytest.mark.parametrize(("question", "expected"), rows())
def test_hard_question(small: Any, question: str, expected: str) -> None:
    assert verdict(small.ask(question), expected, small.name) == ""


def test_the_quick_look_turns_nothing_away(small: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "braincore.recall.about"
    quick = importlib.import_module(module)._far
    monkeypatch.setattr(f"{module}._far", lambda *given: False)
    accepted = 0
    for row in rows():
        question = parse_question(str(row.values[0]))
        for record in small.records.values():
            if about(question, record).accepted:
                accepted += 1
                assert not quick(question, record, said(record)), (question.text, record.text)
    assert accepted > len(rows()) / 3
