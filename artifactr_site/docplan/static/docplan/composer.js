/** Below a chat: what the agent waits for, what a person says, and the stop button. */

import { attempt, button, element, labelled } from "./dom.js";
import { requestCard } from "./request_card.js";

export class Composer {
  element = element("div", { className: "composer" });

  #room;
  #threadId = "";
  #drafts = new Map();
  #cards = new Map();

  constructor(room) {
    this.#room = room;
    this.requests = element("div", { className: "requests", ariaLabel: "The agent waits for" });
    this.requests.setAttribute("role", "group");
    this.text = element("textarea", { name: "message", rows: 2, required: true });
    this.send = element("button", { type: "submit", className: "accept" }, "Send");
    this.stop = button("Stop", () => this.#stop(), { className: "reject", hidden: true });
    this.said = element("p", { className: "problem", role: "alert" });
    this.mode = element("input", { type: "checkbox", name: "suggest", onchange: () => this.#switch() });
    this.form = element(
      "form",
      { className: "say", hidden: !room.may.chat },
      labelled("Message", this.text),
      element(
        "div",
        { className: "buttons" },
        element("label", { className: "switch" }, this.mode, " Only suggest changes"),
        element("span", { className: "grow" }),
        this.stop,
        this.send,
      ),
    );
    this.form.addEventListener("submit", (event) => this.#submit(event));
    this.text.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("input", () => this.#fit());
    this.element.append(this.requests, this.form, this.said);
    room.on("thread", (id) => id === this.#threadId && this.#showMode());
    room.on("run", (threadId) => threadId === this.#threadId && this.#showRun());
    room.log.onState(() => this.#showRun());
  }

  open(threadId) {
    this.#drafts.set(this.#threadId, this.text.value);
    this.#threadId = threadId;
    this.text.value = this.#drafts.get(threadId) ?? "";
    this.said.textContent = "";
    for (const each of this.#cards.values()) each.remove();
    this.#cards.clear();
    this.#fit();
    this.#showMode();
    this.#showRun();
  }

  #showMode() {
    const thread = this.#room.threads.get(this.#threadId);
    this.mode.checked = thread?.mode === "suggest";
  }

  #showRun() {
    const run = this.#room.runOf(this.#threadId);
    this.stop.hidden = !run || !this.#room.may.stop;
    const waiting = run ? this.#room.waiting(run) : [];
    this.#showRequests(run, waiting);
    const isOffline = this.#room.log.state !== "live";
    this.text.placeholder = waiting.length
      ? "Or write something else: it is taken as your answer"
      : run
        ? "Add something while the agent works"
        : isOffline
          ? "It is sent once the connection is back"
          : "Ask for something, Enter sends";
  }

  /** Each request has one card as long as it waits, so that nothing typed into it is lost. */
  #showRequests(run, waiting) {
    const wanted = new Map(waiting.map((each) => [`${run.id} ${each.tool_call_id}`, each]));
    for (const [key, card] of this.#cards) {
      if (wanted.has(key)) continue;
      card.remove();
      this.#cards.delete(key);
    }
    for (const [key, request] of wanted) {
      if (this.#cards.has(key)) continue;
      const card = requestCard(this.#room, run, request);
      this.#cards.set(key, card);
      this.requests.append(card);
    }
  }

  async #submit(event) {
    event.preventDefault();
    const content = this.text.value.trim();
    if (!content) return;
    const threadId = this.#threadId;
    const isSent = await attempt(this.form, this.said, () =>
      this.#room.command({ type: "post_message", thread_id: threadId, content }),
    );
    if (!isSent) return;
    if (threadId !== this.#threadId) return void this.#drafts.delete(threadId);
    // What was typed on while it was under way stays.
    if (this.text.value.trim() === content) this.text.value = "";
    this.#fit();
    this.text.focus();
  }

  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.form.requestSubmit();
  }

  #fit() {
    this.text.rows = Math.min(8, Math.max(2, this.text.value.split("\n").length));
  }

  async #stop() {
    const run = this.#room.runOf(this.#threadId);
    if (!run) return;
    this.stop.disabled = true;
    this.said.textContent = "";
    try {
      await this.#room.command({ type: "stop_run", run_id: run.id });
    } catch (error) {
      // One that has ended by itself needs no stopping.
      if (error.code !== "not_found") this.said.textContent = error.message;
    } finally {
      this.stop.disabled = false;
    }
  }

  async #switch() {
    const mode = this.mode.checked ? "suggest" : "edit";
    await attempt(this.form, this.said, () =>
      this.#room.command({ type: "set_thread_mode", thread_id: this.#threadId, mode }),
    );
    this.#showMode();
  }
}
