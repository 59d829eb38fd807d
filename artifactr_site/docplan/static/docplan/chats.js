/** The chats of the workspace: which one is open, which has news, which waits; and a new one. */

import { attempt, element, labelled, newId } from "./dom.js";

export class Chats {
  #room;
  #open = "";
  #news = new Set();

  /** `onOpen(threadId)` shows one. */
  constructor(room, place, onOpen) {
    this.#room = room;
    this.onOpen = onOpen;
    this.list = element("ul", { className: "plain-list" });
    this.said = element("p", { className: "problem", role: "alert" });
    place.append(this.list);
    if (room.may.chat) place.append(this.#form(), this.said);
    room.on("thread", () => this.#show());
    room.on("run", () => this.#show());
    room.on("event", (envelope) => this.#happened(envelope));
    addEventListener("hashchange", () => this.#follow());
    this.#follow();
  }

  /** Open what the address names, or the newest. */
  #follow() {
    const named = decodeURIComponent(location.hash.slice(1));
    const id = this.#room.threads.has(named) ? named : [...this.#room.threads.keys()].at(-1);
    if (id === undefined || id === this.#open) return this.#show();
    this.#open = id;
    this.#news.delete(id);
    this.#show();
    this.onOpen(id);
  }

  #happened({ event, thread_id: id }) {
    if (id === this.#open || !["message_posted", "run_paused"].includes(event.type)) return;
    this.#news.add(id);
    this.#show();
  }

  #show() {
    const threads = [...this.#room.threads.values()].reverse();
    this.list.replaceChildren(...threads.map((each) => this.#entry(each)));
  }

  #entry({ id, title }) {
    const run = this.#room.runOf(id);
    const state = !run ? "" : this.#room.waiting(run).length ? "waits for you" : "working";
    const link = element("a", { href: `#${encodeURIComponent(id)}` }, title);
    if (id === this.#open) link.setAttribute("aria-current", "true");
    if (this.#news.has(id)) link.append(" ", element("span", { className: "badge is-new" }, "new"));
    const under = state ? [element("span", { className: `under is-${run.status}` }, state)] : [];
    return element("li", {}, link, ...under);
  }

  #form() {
    const title = element("input", { name: "title", required: true, maxLength: 200, autocomplete: "off" });
    const form = element(
      "form",
      { className: "line-form new-chat" },
      labelled("New chat about", title),
      element("button", { type: "submit" }, "Open"),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!title.value.trim()) return;
      const isOpen = await attempt(form, this.said, () => this.#create(title.value.trim()));
      if (isOpen) form.reset();
    });
    return form;
  }

  async #create(title) {
    const id = newId("thr");
    await this.#room.command({ type: "create_thread", thread_id: id, title });
    const shown = [...this.#room.artifacts.keys()].slice(0, 2);
    // A chat opened beside these is about these, so that its agent is told of their changes.
    if (shown.length) {
      await this.#room.command({ type: "set_focus", thread_id: id, artifact_ids: shown });
    }
    location.hash = encodeURIComponent(id);
  }
}
