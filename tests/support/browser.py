"""A headless Chromium of this machine; pages are judged by what it logs."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

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
