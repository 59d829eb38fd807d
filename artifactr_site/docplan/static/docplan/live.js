/** What a run writes while it goes on: text as it comes, and what it is at besides. */

import { element } from "./dom.js";
import { markdown } from "./markdown.js";
import { dataView, titleOf } from "./kinds.js";

export class LiveRun {
  element = element("div", { className: "live", ariaLive: "off" });

  #parts = new Map();
  #isDue = false;

  constructor(name) {
    this.status = element("p", { className: "working" }, `${name} is working…`);
    this.text = element("div", { className: "live-text" });
    this.draft = element("div", { className: "draft", hidden: true });
    this.element.append(this.draft, this.text, this.status);
  }

  /** Take one live event. */
  take(event) {
    const take = this[`_${event.type}`];
    if (!take) return;
    take.call(this, event);
    this.#soon();
  }

  /** The words are in the log now. */
  clear() {
    this.#parts.clear();
    this.draft.hidden = true;
    this.#soon();
  }

  _part_started({ part, part_kind: kind, tool_name: tool }) {
    this.#parts.set(part, { kind, tool, text: "", isOver: false });
  }

  _text_delta({ part, delta }) {
    // A watcher who comes late may have missed the beginning of a part.
    const known = this.#parts.get(part) ?? { kind: "text", text: "… ", isOver: false };
    known.text += delta;
    this.#parts.set(part, known);
  }

  _thinking_delta({ part, delta }) {
    const known = this.#parts.get(part);
    if (known) known.text += delta;
  }

  _part_ended({ part }) {
    const known = this.#parts.get(part);
    if (known) known.isOver = true;
  }

  _draft({ kind, data, artifact_id: id }) {
    this.draft.hidden = false;
    const title = data && typeof data === "object" ? titleOf({ kind, id: id ?? "", data }) : kind;
    this.draft.replaceChildren(
      element("p", { className: "quiet" }, `Draft, not saved yet: ${title}`),
      dataView(data),
    );
  }

  _app_live({ name }) {
    if (name === "artifactr.restarted") this.clear();
  }

  /** Once for each frame that the screen shows, however quickly the text comes. */
  #soon() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#show();
    });
  }

  #show() {
    const parts = [...this.#parts.values()];
    const texts = parts.filter(({ kind, text }) => kind === "text" && text.trim());
    this.text.replaceChildren(...texts.map(({ text }) => markdown(text)));
    const now = parts.findLast(({ isOver }) => !isOver);
    const doing = { thinking: "thinking…", text: "writing…", tool_call: `using ${now?.tool ?? "a tool"}…` };
    this.status.textContent = now ? doing[now.kind] : "working…";
  }
}
