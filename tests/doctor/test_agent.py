import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agentmig.agent.launch import bundled_cli
from agentmig.doctor import agent
from agentmig.doctor.results import Finding

NOBODY = Path("/nowhere/login")


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of whoever runs the tests."""
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def _cli(tmp_path: Path, text: str, mode: int = 0o755) -> Finding:
    file = tmp_path / "claude"
    file.write_text(text)
    file.chmod(mode)
    return asyncio.run(agent.examine_cli(file))


def test_the_bundled_program_starts() -> None:
    found = asyncio.run(agent.examine_cli(bundled_cli()))
    assert found.state == "ok"
    assert found.seen[0].isdigit() and "starts" in found.seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("this is no program", "can't be started"),
        ("#!/bin/sh\necho library missing >&2; exit 127\n", "exit code 127: library missing"),
        ("#!/bin/sh\necho hello\n", "exit code 0: hello"),
        ("#!/nowhere/interpreter\n", "can't be started"),
    ],
)
def test_a_program_that_does_not_work_is_broken(tmp_path: Path, text: str, said: str) -> None:
    found = _cli(tmp_path, text)
    assert found.state == "broken" and said in found.seen
    assert "--force-reinstall" in found.fix


def test_a_program_that_hangs_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "_CLI_TIMEOUT_S", 0.3)
    found = _cli(tmp_path, "#!/bin/sh\nsleep 1000\n")
    assert found.state == "broken" and "no answer" in found.seen


def test_a_program_that_may_not_be_executed_is_said(tmp_path: Path) -> None:
    found = _cli(tmp_path, "#!/bin/sh\n", 0o644)
    assert (found.state, found.fix) == ("broken", f"chmod +x {tmp_path / 'claude'}")


def test_another_version_of_the_sdk_is_a_warning() -> None:
    wanted = ["anyio>=4", "claude-agent-sdk==0.2.189"]
    assert agent.judge_sdk("0.2.189", wanted).state == "ok"
    found = agent.judge_sdk("0.3.0", wanted)
    assert found.state == "warn" and "0.2.189" in found.fix
    assert agent.judge_sdk("0.3.0", []).state == "ok"


def test_a_key_is_needed_and_never_shown() -> None:
    assert agent.judge_key({}, NOBODY).state == "missing"
    found = agent.judge_key({"ANTHROPIC_API_KEY": "sk-secret"}, NOBODY)
    assert found.state == "ok" and "sk-secret" not in str(found)
    found = agent.judge_key({"ANTHROPIC_API_KEY": "sk-secret\n"}, NOBODY)
    assert found.state == "broken" and "sk-secret" not in str(found)


def test_a_login_of_claude_code_is_not_a_key(tmp_path: Path) -> None:
    login = tmp_path / "login"
    login.write_text("{}")
    found = agent.judge_key({"CLAUDE_CODE_OAUTH_TOKEN": "t0ken"}, login)
    assert found.state == "missing"
    assert "CLAUDE_CODE_OAUTH_TOKEN and a login" in found.seen and "t0ken" not in str(found)


@contextmanager
def _server(status: int) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _reach(base: str, **more: str) -> Finding:
    return asyncio.run(agent.reach({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": base, **more}))


@pytest.mark.parametrize(("status", "state"), [(200, "ok"), (401, "ok"), (404, "ok"), (503, "warn")])
def test_any_answer_means_that_the_service_is_there(status: int, state: str) -> None:
    with _server(status) as base:
        found = _reach(base)
    assert found.state == state and f"HTTP {status}" in found.seen


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_service_that_is_not_there_is_broken() -> None:
    found = _reach(f"http://me:pa55word@127.0.0.1:{_closed_port()}")
    assert found.state == "broken" and "can't be reached" in found.seen
    assert "HTTPS_PROXY" in found.fix and "pa55word" not in str(found)


@pytest.mark.parametrize("base", ["api.example.org", "ftp://example.org", "http://[x"])
def test_what_is_no_address_is_broken(base: str) -> None:
    assert _reach(base).state == "broken"


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = f"http://me:pa55word@127.0.0.1:{_closed_port()}"
    monkeypatch.setenv("HTTP_PROXY", proxy)
    found = _reach("http://example.invalid", HTTP_PROXY=proxy)
    assert found.state == "broken" and "through the proxy of HTTP_PROXY" in found.seen
    assert "correct the proxy" in found.fix and "pa55word" not in str(found)


def test_a_proxy_that_wants_a_login_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(407) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        found = _reach("http://example.invalid", HTTP_PROXY=proxy)
    assert found.state == "broken" and "wants a login" in found.seen


def test_a_proxy_variable_that_is_no_address_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "foo://x")
    found = _reach("http://example.invalid", HTTP_PROXY="foo://x")
    assert found.state == "broken" and "HTTP_PROXY" in found.fix
