"""`manage.py demo` as a person meets it: the page, the real engine, and the offline agent, which
writes, proposes, asks, and waits for an approval."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support import browser, sites

# The page speaks the protocol, which both passes test: once is enough.
pytestmark = [pytest.mark.browser, pytest.mark.once]

PATIENCE = 90_000


def test_a_person_and_the_agent_work_on_the_demos_page(tmp_path: Path) -> None:
    port = sites.free_port()
    with (
        sites.site(tmp_path) as site,
        site.running("manage.py", "demo", "--port", str(port)) as demo,
    ):
        demo.wait_for("Ctrl-C stops.")
        found = re.search(r"^Password: (\S+)", demo.output, re.MULTILINE)
        assert found, demo.output
        with browser.page() as (page, complaints):
            page.set_default_timeout(PATIENCE)
            page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
            _sign_in(page, f"http://127.0.0.1:{port}/", found.group(1))
            _work(page)
            assert complaints == []


def _sign_in(page: Page, url: str, password: str) -> None:
    page.goto(url)
    page.fill("#id_username", "admin")
    page.fill("#id_password", password)
    page.click("[type=submit]")
    expect(page.locator("#connection.is-live")).to_be_visible(timeout=PATIENCE)


def _work(page: Page) -> None:
    doc, replies = page.locator("[data-artifact=demo_doc]"), page.locator(".message.by-agent")
    _say(page, "Add a section on pricing")
    expect(replies).to_have_count(1, timeout=PATIENCE)
    expect(doc.locator(".is-fresh").last).to_contain_text("pricing", timeout=PATIENCE)
    page.click(".proposal button.accept")
    expect(page.locator(".task")).to_contain_text("pricing", timeout=PATIENCE)
    _say(page, "Add a section")
    page.locator(".request .choices button").first.click()
    expect(replies).to_have_count(2, timeout=PATIENCE)
    _say(page, "Start over")
    page.click(".request button.accept")
    expect(replies).to_have_count(3, timeout=PATIENCE)
    expect(page.locator(".live")).to_have_count(0, timeout=PATIENCE)


def _say(page: Page, text: str) -> None:
    page.fill("textarea[name=message]", text)
    page.press("textarea[name=message]", "Enter")
