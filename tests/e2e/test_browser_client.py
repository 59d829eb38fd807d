"""The browser's client against a server that is played here, frame by frame, on a clock that the
test moves: when it comes back and when not, and what it makes of each frame."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute

from tests.support import browser

pytestmark = [pytest.mark.browser, pytest.mark.once]

MODULE = Path(__file__).parents[2] / "threads/static/threads/artifactr.js"
SITE = "http://site.test"
START = """async ([options, random]) => {
  Math.random = () => random;
  const { connect, RESTARTED } = await import("/artifactr.js");
  Object.assign(window, { RESTARTED, seqs: [], states: [], resets: 0, told: [], ended: {} });
  window.log = connect(options);
  log.on("*", (event, envelope) => seqs.push(envelope.seq));
  log.onState((state, reason) => states.push([state, reason]));
  log.onReset(() => (resets += 1));
  log.onLive("*", (event, run) => told.push([run, event.delta ?? event.name]));
  window.ask = (id, how) => void log.command({ type: "x" }, { commandId: id, ...how }).then(
    (outcome) => (ended[id] = outcome),
    (error) => (ended[id] = [error.name, error.code]),
  );
}"""


class Played:
    """The server: each socket that was opened, and what was said on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.sockets: list[WebSocketRoute] = []
        self.heard: list[list[dict[str, Any]]] = []
        page.route_web_socket("**/stream", self._opened)
        page.goto(SITE)
        page.clock.install()
        page.clock.pause_at(1_900_000_000)

    def _opened(self, socket: WebSocketRoute) -> None:
        heard: list[dict[str, Any]] = []
        self.sockets.append(socket)
        self.heard.append(heard)
        socket.on_message(lambda text: heard.append(json.loads(text)))

    def start(self, *, random: float = 1, **options: Any) -> None:
        self.page.evaluate(START, [{"workspaceId": "w", **options}, random])

    def hello(self, number: int = 1) -> dict[str, Any]:
        """What the client says first on its so-manieth socket."""
        for _ in range(500):
            if len(self.heard) >= number and self.heard[number - 1]:
                break
            self.pump()
        assert len(self.heard) == number, self.heard
        return self.heard[-1][0]

    def said(self, count: int) -> list[dict[str, Any]]:
        """What the client said after its hello, once it has said so much."""
        for _ in range(500):
            if len(self.heard[-1]) > count:
                break
            self.pump()
        assert len(self.heard[-1]) == count + 1
        return self.heard[-1][1:]

    def pump(self) -> None:
        """Give the page and the sockets their turn; the page's clock stands still."""
        self.page.evaluate("0")

    def send(self, *frames: dict[str, Any]) -> None:
        for frame in frames:
            self.sockets[-1].send(json.dumps(frame))

    def events(self, *seqs: int) -> None:
        self.send(*({"type": "event", "seq": seq, "event": {"type": "app_event"}} for seq in seqs))

    def welcome(self, head: int = 0, *, reset: bool = False) -> None:
        self.send({"type": "welcome", "head_seq": head, "reset": reset, "active_runs": []})

    def live(self, *seqs: int, up_to: int | None = None) -> None:
        """Welcome the client, replay these and let it be live."""
        self.welcome(max(seqs, default=0))
        self.events(*seqs)
        up_to = max(seqs, default=0) if up_to is None else up_to
        self.send({"type": "replay_complete", "up_to_seq": up_to})
        self.until("log.state === 'live'")

    def close(self, code: int) -> None:
        self.sockets[-1].close(code=code)
        self.until("log.state === 'offline' || log.state === 'closed'")

    def until(self, expression: str) -> None:
        for _ in range(500):
            if self.page.evaluate(expression):
                return
            self.pump()
        raise AssertionError(f"not so: {expression}")

    def pass_time(self, seconds: float) -> None:
        self.page.clock.run_for(int(seconds * 1000))
        self.pump()

    @property
    def seqs(self) -> list[int]:
        seqs: list[int] = self.page.evaluate("seqs")
        return seqs


@pytest.fixture(scope="module")
def blank() -> Iterator[tuple[Page, list[str]]]:
    with browser.page() as (page, complaints):
        page.route(f"{SITE}/**", lambda route: route.fulfill(body="", content_type="text/html"))
        page.route(f"{SITE}/artifactr.js", lambda route: route.fulfill(path=MODULE))
        yield page, complaints


@pytest.fixture
def server(blank: tuple[Page, list[str]]) -> Iterator[Played]:
    page, complaints = blank
    yield Played(page)
    page.goto("about:blank")
    found, complaints[:] = list(complaints), []
    assert found == []


def test_it_says_where_it_is_and_hands_each_event_on_once(server: Played) -> None:
    server.start(resumeAfterSeq=4)
    assert server.hello() == {"type": "hello", "protocol": "artifactr.v1", "resume_after_seq": 4}
    server.live(4, 5, 6)
    server.events(6, 5, 7)
    server.until("log.lastSeq === 7")
    assert server.seqs == [5, 6, 7]


def test_from_the_head_it_resumes_from_the_head_it_was_told(server: Played) -> None:
    server.start(fromHead=True, threads=["t"])
    assert server.hello() == {
        "type": "hello",
        "protocol": "artifactr.v1",
        "from_head": True,
        "threads": ["t"],
    }
    server.welcome(9)
    server.until("log.lastSeq === 9")
    server.close(1011)
    server.pass_time(0.5)
    assert server.hello(2)["resume_after_seq"] == 9


def test_a_gap_in_what_is_live_makes_it_ask_again(server: Played) -> None:
    server.start()
    server.hello()
    server.live(1, 2)
    server.events(4)
    assert server.hello(2)["resume_after_seq"] == 2
    server.live(3, 4)
    assert server.seqs == [1, 2, 3, 4]


def test_what_a_replay_leaves_out_is_hidden_and_no_gap(server: Played) -> None:
    server.start()
    server.hello()
    server.live(1, 3, up_to=5)
    server.events(8)
    server.until("log.lastSeq === 8")
    assert len(server.sockets) == 1
    assert server.seqs == [1, 3, 8]


def test_who_follows_some_threads_expects_gaps(server: Played) -> None:
    server.start(threads=[])
    server.hello()
    server.live(up_to=5)
    server.events(9)
    server.until("log.lastSeq === 9")
    assert len(server.sockets) == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (4400, "this protocol is not spoken there"),
        (4401, "not signed in"),
        (4403, "refused"),
        (4404, "there is no such workspace"),
    ],
)
def test_it_never_comes_back_where_it_is_not_wanted(server: Played, code: int, reason: str) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("ask('c')")
    server.said(1)
    server.close(code)
    assert server.page.evaluate("[log.state, log.reason]") == ["closed", reason]
    server.until("ended.c")
    assert server.page.evaluate("ended.c") == ["Error", code]
    server.page.evaluate("dispatchEvent(new Event('online'))")
    server.pass_time(120)
    assert len(server.sockets) == 1


def test_the_server_s_own_word_is_the_reason(server: Played) -> None:
    server.start()
    server.hello()
    server.send({"type": "error", "message": "more than 20 sockets"})
    server.close(4403)
    assert server.page.evaluate("log.reason") == "more than 20 sockets"


def test_too_slow_resumes_at_once(server: Played) -> None:
    server.start()
    server.hello()
    server.live(1)
    server.close(4429)
    server.pass_time(0.001)
    assert server.hello(2)["resume_after_seq"] == 1
    # The control: after any other end it waits.
    server.live()
    server.close(1011)
    server.pass_time(0.49)
    assert len(server.sockets) == 2
    server.pass_time(0.02)
    server.hello(3)


def test_it_waits_longer_and_longer_up_to_a_bound(server: Played) -> None:
    server.start()
    opened = 1
    for seconds in (0.5, 1, 2, 4, 8, 16, 30, 30):
        server.hello(opened)
        server.close(1006)
        server.pass_time(seconds - 0.01)
        assert len(server.sockets) == opened
        server.pass_time(0.02)
        opened += 1
    # Having been live, it begins anew.
    server.hello(opened)
    server.live()
    server.close(1006)
    server.pass_time(0.51)
    server.hello(opened + 1)


def test_the_wait_is_spread_over_all_of_it(server: Played) -> None:
    server.start(random=0.1)
    server.hello()
    server.close(1006)
    server.pass_time(0.051)
    server.hello(2)


def test_a_server_that_says_nothing_is_left(server: Played) -> None:
    server.start()
    server.hello()
    server.pass_time(15.6)
    server.hello(2)


def test_a_network_that_is_back_and_a_look_end_the_wait(server: Played) -> None:
    server.start()
    server.hello()
    server.close(1006)
    server.page.evaluate("dispatchEvent(new Event('online'))")
    server.hello(2)
    server.live()
    # What was live on the network before may be dead without a word.
    server.page.evaluate("dispatchEvent(new Event('online'))")
    server.hello(3)
    server.close(1006)
    server.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    server.hello(4)


def test_a_hidden_page_lets_go_and_resumes_when_seen(server: Played) -> None:
    look = """(state) => {
      Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    server.start(whileVisible=True)
    server.hello()
    server.live(1)
    server.page.evaluate(look, "hidden")
    server.pass_time(29)
    assert server.page.evaluate("log.state") == "live"
    server.pass_time(2)
    assert server.page.evaluate("[log.state, log.reason]") == ["offline", "hidden"]
    server.pass_time(600)
    assert len(server.sockets) == 1
    server.page.evaluate(look, "visible")
    assert server.hello(2)["resume_after_seq"] == 1


def test_a_reset_is_told_and_everything_comes_again(server: Played) -> None:
    server.start(resumeAfterSeq=90)
    server.hello()
    server.welcome(2, reset=True)
    server.events(1, 2)
    server.until("log.lastSeq === 2")
    assert server.page.evaluate("resets") == 1
    assert server.seqs == [1, 2]


def test_a_command_is_sent_again_under_its_id_until_it_is_answered(server: Played) -> None:
    server.start()
    server.page.evaluate("ask('c')")
    server.page.evaluate("ask('c')")  # still the same one
    server.hello()
    server.welcome()
    frame = {"type": "command", "command_id": "c", "command": {"type": "x"}}
    assert server.said(1) == [frame]
    server.close(1006)
    server.pass_time(0.51)
    server.hello(2)
    server.welcome()
    assert server.said(1) == [frame]
    busy = {"type": "unavailable", "message": "busy", "retry_after": 2}
    server.send({"type": "command_result", "command_id": "c", "ok": False, "rejection": busy})
    server.pump()
    server.pass_time(1.9)
    server.said(1)
    server.pass_time(0.2)
    assert server.said(2)[-1] == frame
    answer = {"type": "command_result", "command_id": "c", "ok": True, "outcome": {"seq": 7}}
    server.send(answer, answer)
    server.until("ended.c")
    assert server.page.evaluate("ended.c") == {"seq": 7}
    server.close(1006)
    server.pass_time(1.01)
    server.hello(3)
    server.welcome()
    server.pump()
    server.said(0)


def test_who_gives_up_waiting_is_told_so_and_nothing_is_sent_again(server: Played) -> None:
    server.start()
    server.hello()
    server.page.evaluate("""() => {
      window.leave = new AbortController();
      ask("stopped", { signal: leave.signal });
      ask("late", { timeout: 1 });
      leave.abort();
      ask("never", { signal: leave.signal });
    }""")
    server.pass_time(0.01)
    server.until("ended.stopped && ended.never && ended.late")
    names = server.page.evaluate("[ended.stopped[0], ended.never[0], ended.late[0]]")
    assert names == ["AbortError", "AbortError", "TimeoutError"]
    server.welcome()
    server.pump()
    server.said(0)


def test_a_complaint_settles_the_only_command_it_can_be_about(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("ask('one')")
    server.said(1)
    server.send({"type": "error", "message": "frame: is not valid JSON"})
    server.until("ended.one")
    assert server.page.evaluate("ended.one[1]") == "error"
    # Of two it is not known which: both go on waiting, and each gets what it is answered.
    server.page.evaluate("ask('two'), ask('three')")
    server.said(3)
    server.send({"type": "error", "message": "frame: is not valid JSON"})
    done = {"type": "command_result", "command_id": "two", "ok": True, "outcome": {"seq": 1}}
    server.send(done)
    server.until("ended.two")
    assert server.page.evaluate("ended.three") is None
    server.send({**done, "command_id": "three"})
    server.until("ended.three")


def test_a_complaint_about_what_nobody_waits_for_settles_nothing_else(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("""() => {
      window.leave = new AbortController();
      ask("left", { signal: leave.signal });
      leave.abort();
    }""")
    server.until("ended.left")
    server.page.evaluate("ask('c')")
    server.said(2)
    server.send({"type": "error", "message": "frame: is not valid JSON"})
    server.send({"type": "command_result", "command_id": "c", "ok": True, "outcome": {"seq": 1}})
    server.until("ended.c")
    assert server.page.evaluate("ended.c") == {"seq": 1}


def test_an_id_that_no_answer_could_name_is_refused_at_once(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    wrong = ["", "a/b", "a\0b", "\ud800", "x" * 129]
    for number, id in enumerate(wrong):
        code = server.page.evaluate(
            "id => log.command({ type: 'x' }, { commandId: id }).catch((error) => error.code)",
            json.loads(json.dumps(id)),
        )
        assert code == "validation_failed", number
    server.pump()
    server.said(0)


def test_what_is_too_large_for_the_server_is_not_sent_again(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("""() => {
      ask("small");
      log.command({ type: "x", text: "y".repeat(1000) }, { commandId: "large" })
        .catch((error) => (ended.large = error.code));
    }""")
    server.said(2)
    server.close(1009)
    server.until("ended.large")
    assert server.page.evaluate("ended.large") == "too_large"
    server.pass_time(0.51)
    server.hello(2)
    server.live()
    assert [each["command_id"] for each in server.said(1)] == ["small"]


def test_live_frames_begin_again_after_a_drop_and_a_watch_is_renewed(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("void log.watchRun('r').then(() => (ended.watch = true))")
    watch = server.said(1)[0]
    assert watch["command"] == {"type": "watch_run", "run_id": "r"}
    done = {"type": "command_result", "ok": True, "outcome": {"type": "recorded"}}
    server.send({**done, "command_id": watch["command_id"]})
    server.until("ended.watch")
    delta = {"type": "text_delta", "part": 0, "delta": "one"}
    server.send({"type": "live", "run_id": "r", "event": delta})
    server.until("told.length === 1")
    server.close(1006)
    server.pass_time(0.51)
    server.hello(2)
    server.welcome()
    assert server.said(1)[0]["command"] == watch["command"]
    server.send({"type": "live", "run_id": "r", "event": delta})
    server.until("told.length === 3")
    assert server.page.evaluate("told") == [
        ["r", "one"],
        ["r", "artifactr.restarted"],
        ["r", "one"],
    ]


def test_a_handler_that_fails_keeps_nothing_from_the_others(
    server: Played, blank: tuple[Page, list[str]]
) -> None:
    server.start()
    server.page.evaluate("""() => {
      log.on("app_event", () => { throw new Error("mine"); });
      window.off = log.on("app_event", () => told.push("second"));
    }""")
    server.hello()
    server.live(1)
    server.page.evaluate("off()")
    server.events(2)
    server.until("log.lastSeq === 2")
    assert server.page.evaluate("told") == ["second"]
    assert [each for each in blank[1] if each == "mine"] == ["mine"] * 2
    blank[1].clear()


def test_it_can_be_ended_by_the_page(server: Played) -> None:
    server.start()
    server.hello()
    server.live()
    server.page.evaluate("log.close()")
    assert server.page.evaluate("states.at(-1)") == ["closed", "closed by this page"]
    server.pass_time(120)
    assert len(server.sockets) == 1
