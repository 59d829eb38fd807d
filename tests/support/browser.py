"""A headless Chromium of this machine; pages are judged by what it logs."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import connections
from playwright.sync_api import Page, sync_playwright

T = TypeVar("T")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class BrowserMissingError(RuntimeError):
    """No Chromium: install the chromium package, or choose to leave out `-m browser` tests."""


def executable() -> str:
    """Find the browser; its absence fails the test, as a skip would hide what nobody checked."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise BrowserMissingError(f"{BrowserMissingError.__doc__} Looked for: {', '.join(NAMES)}")


@contextmanager
def page() -> Iterator[tuple[Page, list[str]]]:
    """Give a page and the list of what its console complains about.

    While it is open this thread has a running event loop, so Django refuses the ORM here: prepare
    rows before the block and look at them after it.
    """
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable(), args=options)
        try:
            opened, complaints = chromium.new_page(), list[str]()
            opened.on(
                "console",
                lambda line: complaints.append(line.text) if line.type == "error" else None,
            )
            opened.on("pageerror", lambda error: complaints.append(str(error)))
            yield opened, complaints
        finally:
            chromium.close()


def until(page: Page, expression: str, argument: Any = None, *, seconds: float = 30) -> None:
    """Wait for a truth of the page; Playwright's own waiting needs `eval`, which pages forbid."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < deadline, f"not so in time: {expression}"
        page.wait_for_timeout(20)


def elsewhere(work: Callable[[], T]) -> T:
    """Work of somebody else meanwhile, on a thread where the ORM may be used."""

    def done() -> T:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(done).result()
