"""Secrets never reach disk; what only looks like one survives."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braincore.intake.redact import _redacted, redact, redact_value

A36 = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
HEX32 = "0123456789abcdef" * 2
HEX64 = HEX32 * 2

SECRETS = {
    "aws access key": "AKIA" + "IOSFODNN7QWERTYU",
    "aws temporary key": "ASIA" + "IOSFODNN7QWERTYU",
    "github classic": "ghp_" + A36,
    "github oauth": "gho_" + A36,
    "github server": "ghs_" + A36,
    "github fine-grained": "github_pat_" + A36 + "_" + A36,
    "gitlab": "glpat-" + "aB3dE5gH7jK9mN1pQ3sT",
    "slack bot": "xoxb-" + "123456789012-1234567890123-" + A36[:24],
    "slack user": "xoxp-" + "123456789012-1234567890123-" + A36[:24],
    "stripe live": "sk_live_" + A36[:24],
    "stripe restricted": "rk_live_" + A36[:24],
    "openai": "sk-" + A36 + A36[:12],
    "openai project": "sk-proj-" + A36 + A36[:12],
    "anthropic": "sk-ant-api03-" + A36 + A36,
    "google api": "AIza" + A36[:35],
    "google oauth": "ya29." + A36,
    "hub": "hf_" + A36[:34],
    "npm": "npm_" + A36,
    "pypi": "pypi-AgEIcHlwaS5vcmc" + A36 * 3,
    "sendgrid": "SG." + A36[:22] + "." + A36 + A36[:7],
    "digital ocean": "dop_v1_" + HEX64,
    "json web token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + A36,
    "twilio": "SK" + HEX32,
    "mailchimp": HEX32 + "-us12",
    "telegram": "110201543:" + A36[:35],
    "square": "sq0csp-" + A36 + A36[:7],
    "rsa key": "-----BEGIN RSA PRIVATE KEY-----\nMIIE" + A36 + "\n-----END RSA PRIVATE KEY-----",
    "openssh key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
    "cut off key": "-----BEGIN PRIVATE KEY-----\nMIIE" + A36,
    "pgp key": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----",
    "marked private": "<private>the alarm code is 4711</private>",
    "marked private, open": "<private>the alarm code is 4711",
}

VALUED = {
    "database url": ("postgres://app:hunter2@db.internal/main", "hunter2"),
    "redis url": ("redis://default:s3cr3t!@cache:6379/0", "s3cr3t!"),
    "basic auth url": ("https://ann:tr0ub4dor@example.org/x", "tr0ub4dor"),
    "bearer": ("Authorization: Bearer " + A36, A36),
    "basic": ("Authorization: Basic dXNlcjpwYXNzd29yZDE=", "dXNlcjpwYXNzd29yZDE="),
    "env": ("DB_PASSWORD=hunter2!x", "hunter2!x"),
    "yaml": ("password: hunter2x", "hunter2x"),
    "json": ('{"api_key": "q8w7e6r5t4"}', "q8w7e6r5t4"),
    "python": ("client_secret = 'q8w7e6r5t4'", "q8w7e6r5t4"),
    "go": ('token := "q8w7e6r5t4"', "q8w7e6r5t4"),
    "ruby": ('"secret_key" => "q8w7e6r5t4"', "q8w7e6r5t4"),
    "sentence": ("the staging password is hunter2!", "hunter2!"),
    "aws secret": (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
        "wJalrXUtnFEMI",
    ),
    "odd quotes": ("PASSWORD='corr3ct-horse'", "corr3ct-horse"),
}

SURVIVES = """
We use risk-based pricing for new accounts.
task-based scheduling, disk-backed queues, ask-first policy
Fixed by 3f786850e387550fdab836ed7e6dc881de23001b.
commit:da39a3ee5e6b4b0d3255bfef95601890afd80709
see 3f78685 and e387550
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
The checksum is d41d8cd98f00b204e9800998ecf8427e.
request id 123e4567-e89b-12d3-a456-426614174000 failed
fact-01ARZ3NDEKTSV4RRFFQ69G5FAV supersedes it
token: 15 minutes
Access tokens live 15 minutes.
The token is refreshed after 30 days.
token = get_token()
password = getpass()
password = getpass.getpass("Password: ")
password = os.environ["DB_PASSWORD"]
password: str = field(repr=False)
secret: Optional[str] = None
api_key = settings.API_KEY
api_key=None
apiKey: string;
const token = await login(user, password)
token := auth.NewToken(ctx)
if password != confirm: raise ValueError
def check_password(password: str) -> bool:
the password is hashed with argon2
the password is required
The password was changed by the user
Passwords are hashed, never stored.
secret scanning is on
secrets live in the vault
bearer tokens are checked in the gateway
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
basic authentication is off
token bucket of 100 requests
postgres://app:<password>@db/main
postgres://localhost:5432/main
https://example.org/a:b@c
https://user@example.org/path
git@github.com:owner/repo.git
mail ann@example.org
AKIA is the prefix of an access key
keys that start with sk- are secret
sk-learn is pinned
ghp_ tokens expire
the header X-Api-Key is required
API_KEY_ROTATION_DAYS=90
PASSWORD_MIN_LENGTH=12
password_reset_url = "/reset"
max_tokens: 4096
token_limit = 8192
eyJ is how such tokens begin
src/auth/token.py::refresh_token
tests/test_password.py::test_login[wrong-password]
auth/password_reset.py#L10-L20
secret santa: 24 December
key: value
primary_key=True
The private key is in the vault.
-----BEGIN PUBLIC KEY-----
uses: actions/checkout@v4
node:20-alpine@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwv==
""".strip().splitlines()


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_replaced(name: str) -> None:
    secret = SECRETS[name]
    for text in (secret, f"the key is {secret}, keep it", f'KEY = "{secret}"', f"({secret})"):
        told = redact(text)
        assert secret not in told
        assert "[redacted" in told
        for part in secret.split():
            assert len(part) < 12 or part not in told


@pytest.mark.parametrize("name", VALUED)
def test_a_named_value_is_replaced_and_its_name_stays(name: str) -> None:
    text, value = VALUED[name]
    told = redact(text)
    assert value not in told
    assert told.startswith(text.partition(value)[0][:6])


@pytest.mark.parametrize("text", SURVIVES)
def test_what_only_looks_like_a_secret_survives(text: str) -> None:
    assert redact(text) == text


def test_the_tables_are_large() -> None:
    assert len(SECRETS) + len(VALUED) >= 25
    assert len(SURVIVES) >= 50


@pytest.mark.parametrize("text", [*SECRETS.values(), *(t for t, _ in VALUED.values())])
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(f"before {text} after")
    assert redact(once) == once


@given(st.text(max_size=200))
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@dataclass(frozen=True)
class Inner:
    """A value with a string."""

    text: str


@dataclass(frozen=True)
class Outer:
    """A value with values."""

    inner: Inner
    many: tuple[str, ...]
    number: int


def test_every_string_of_a_value_is_redacted() -> None:
    secret = SECRETS["github classic"]
    told = redact_value(Outer(Inner(secret), (f"x {secret}", "plain"), 3))
    assert secret not in repr(told)
    assert told.many[1] == "plain"
    assert told.number == 3
    assert secret not in repr(redact_value({"a": [secret]}))


@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.sampled_from(
                ["xoxb-1-", "sk-", "AC", "eyJ", "://a:b@", "pwd=", "key: ", "=", ".", ":"]
            ),
            st.from_regex(r"[A-Za-z0-9]{1,24}", fullmatch=True),
        ),
        max_size=8,
    )
)
def test_the_quick_look_passes_over_nothing(parts: list[str]) -> None:
    text = "".join(parts)
    assert redact(text) == _redacted(text)


@pytest.mark.parametrize("part", ["x", "x1"])
def test_a_long_word_takes_no_longer_than_its_length(part: str) -> None:
    text = part * (100_000 // len(part))  # a minute, where a pattern looks on from every character
    assert redact(text) == text
