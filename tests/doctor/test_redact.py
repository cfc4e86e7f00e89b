from hypothesis import given
from hypothesis import strategies as st

from agentmig.doctor.redact import redacted, secrets_of
from agentmig.doctor.results import broken


@given(st.text(), st.text(min_size=6).filter(lambda text: len(text.strip()) >= 6), st.text())
def test_no_secret_survives_whoever_printed_it(before: str, secret: str, after: str) -> None:
    secrets = secrets_of({"MY_API_KEY": secret, "HOME": "/home/ann"})
    result = broken(f"{before}{secret}{after}", f"{secret}").named("x", "agent")
    (clean,) = redacted([result], secrets)
    assert clean.fix.strip() == "…"
    assert secret.strip() not in clean.seen or secret.strip() in f"{before}…{after}"


def test_named_variables_are_secrets_too_and_short_ones_are_no_words() -> None:
    environ = {"HUB": "hf_123456", "OTHER": "harmless-value", "A_TOKEN": "1"}
    assert secrets_of(environ, ["HUB"]) == ["hf_123456"]


def test_logins_in_addresses_are_left_out() -> None:
    (clean,) = redacted([broken("https://ann:pw@host/x and ssh://bob@host").named("x", "agent")], [])
    assert clean.seen == "https://…@host/x and ssh://…@host"
