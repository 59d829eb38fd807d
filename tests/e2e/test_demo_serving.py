"""`manage.py demo`: it comes up, lets the printed user in, answers a message, and stops."""

import re
from pathlib import Path
from typing import Any

import httpx

from tests.support import sites

WORKSPACE = "/api/v1/workspaces/demo"


def test_it_serves_answers_and_stops(tmp_path: Path) -> None:
    port = sites.free_port()
    with sites.site(tmp_path) as site:
        command = ("manage.py", "demo", "--port", str(port))
        with site.running(*command) as demo:
            demo.wait_for("Ctrl-C stops.")
            assert "offline scripted model" in demo.output.splitlines()[0]
            password = _password(demo.output)
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as browser:
                sites.wait_until(lambda: _is_up(browser))
                assert browser.get("/static/admin/css/base.css").status_code == 200
                _sign_in(browser, password)
                _post(browser, "Add a section on pricing")
                sites.wait_until(lambda: "run_ended" in _event_types(browser))
                said = [each["event"].get("content", "") for each in _events(browser)]
                assert any(text.startswith("Noted: Add a section on pricing") for text in said)
                page = browser.get("/admin/artifactr/proposal/")
                assert 'Launch <span class="artifactr-badge">plan</span>' in page.text
            assert demo.stop() == 0
            assert demo.output.rstrip().endswith("Stopped.")

        # The second start changes nothing and says the same.
        with site.running(*command) as demo:
            demo.wait_for("Ctrl-C stops.")
            assert _password(demo.output) == password


def test_a_port_in_use_is_said_in_one_line(tmp_path: Path) -> None:
    import socket

    with sites.site(tmp_path) as site, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = site.manage("demo", "--port", str(port))
        assert refused.returncode == 1
        assert f"port {port} of 127.0.0.1 cannot be used" in refused.stderr
        assert "Traceback" not in refused.stderr


def _password(output: str) -> str:
    found = re.search(r"^Password: (\S+)", output, re.MULTILINE)
    assert found, output
    return found.group(1)


def _is_up(browser: httpx.Client) -> bool:
    try:
        return browser.get("/healthz").status_code == 200
    except httpx.TransportError:
        return False


def _sign_in(browser: httpx.Client, password: str) -> None:
    browser.get("/admin/login/")
    answer = browser.post(
        "/admin/login/",
        data={
            "username": "admin",
            "password": password,
            "csrfmiddlewaretoken": browser.cookies["csrftoken"],
            "next": "/admin/",
        },
    )
    assert answer.status_code == 302, answer.text


def _post(browser: httpx.Client, content: str) -> None:
    answer = browser.post(
        f"{WORKSPACE}/commands/",
        json={
            "type": "command",
            "command_id": "cmd_1",
            "command": {
                "type": "post_message",
                "thread_id": "demo_thread",
                "content": content,
            },
        },
        headers={"X-CSRFToken": browser.cookies["csrftoken"]},
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["ok"] is True


def _events(browser: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = browser.get(f"{WORKSPACE}/events/").json()["results"]
    return found


def _event_types(browser: httpx.Client) -> list[str]:
    return [each["event"]["type"] for each in _events(browser)]
