/** Editing a text in place. Whatever others do meanwhile, what was typed stays. */

import { changeView } from "./change.js";
import { applied, editsBetween } from "./diff.js";
import { attempt, button, element, labelled, who } from "./dom.js";

export class TextEditor {
  #room;
  #base;
  #done;

  /** `artifact` is what editing starts from; `done()` is called when it is over. */
  constructor(room, artifact, done) {
    [this.#room, this.#base, this.#done] = [room, artifact, done];
    this.text = element("textarea", { name: "text", value: artifact.data.text, spellcheck: true });
    this.moved = element("div", { className: "moved", ariaLive: "polite" });
    this.said = element("p", { className: "problem", role: "alert" });
    this.element = element(
      "form",
      { className: "editor" },
      this.moved,
      labelled("Text, in Markdown", this.text),
      element(
        "div",
        { className: "buttons" },
        element("button", { type: "submit", className: "accept" }, "Save"),
        button("Cancel", () => this.#done()),
        element("span", { className: "quiet" }, `on version ${artifact.version}`),
      ),
      this.said,
    );
    this.element.addEventListener("submit", (event) => this.#submit(event));
    this.text.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("input", () => this.#fit());
  }

  start() {
    this.#fit();
    this.text.focus();
    this.text.setSelectionRange(0, 0);
  }

  get #isChanged() {
    return this.text.value !== this.#base.data.text;
  }

  /** The artifact is at another version now. */
  look() {
    const head = this.#room.artifacts.get(this.#base.id);
    if (!head) return this.#say("It was archived meanwhile. Copy what you typed before you leave.");
    if (head.version === this.#base.version) return this.moved.replaceChildren();
    if (!this.#isChanged) return this.#take(head, head.data.text);
    const merged = this.#mergedInto(head);
    const name = who(head.updated_by, this.#room.actor);
    const actions = merged === null ? [] : [button("Take that into my text", () => this.#take(head, merged))];
    this.moved.replaceChildren(
      element(
        "div",
        { className: "notice is-warning" },
        element("p", {}, `${name} changed this to version ${head.version} while you type:`),
        changeView(head.kind, this.#base.data, head.data, "What changed meanwhile"),
        element("div", { className: "buttons" }, ...actions, this.#overButton(head)),
      ),
    );
  }

  #overButton(head) {
    return button("Keep mine instead", () => this.#take(head, this.text.value), { className: "plain" });
  }

  /** What was typed, put on top of what others wrote; null where both are about the same place. */
  #mergedInto(head) {
    const edits = editsBetween(this.#base.data.text, this.text.value);
    return edits && applied(head.data.text, edits);
  }

  #take(head, text) {
    [this.#base, this.text.value] = [head, text];
    this.moved.replaceChildren();
    this.element.querySelector(".buttons > .quiet").textContent = `on version ${head.version}`;
    this.#say("");
    this.#fit();
  }

  #say(text) {
    this.said.textContent = text;
  }

  async #submit(event) {
    event.preventDefault();
    if (!this.#isChanged) return this.#done();
    const isSaved = await attempt(this.element, this.said, () => this.#save());
    if (isSaved) this.#done();
  }

  async #save() {
    const { id, version, data } = this.#base;
    const edits = editsBetween(data.text, this.text.value);
    const patch = edits
      ? { kind: "text_edits", field: "text", edits }
      : { kind: "json_patch", ops: [{ op: "replace", path: "/text", value: this.text.value }] };
    try {
      await this.#room.command({ type: "edit_artifact", artifact_id: id, base_version: version, patch });
    } catch (error) {
      if (error.code !== "version_conflict") throw error;
      await this.#room.refresh(id);
      this.look();
      throw new Error("Not saved: it was changed meanwhile. What you typed is kept");
    }
  }

  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.element.requestSubmit();
    } else if (event.key === "Escape" && !this.#isChanged) {
      this.#done();
    }
  }

  #fit() {
    const lines = this.text.value.split("\n").length + 2;
    this.text.rows = Math.min(28, Math.max(10, lines));
  }
}
