/** One artifact on the page: what it says, who changed it last and how, and editing it in place. */

import { changeView } from "./change.js";
import { addedLines } from "./diff.js";
import { button, by, element, time } from "./dom.js";
import { dataView, isPlan, isText, linesOf, titleOf } from "./kinds.js";
import { markdown } from "./markdown.js";
import { PlanView } from "./plan_view.js";
import { TextEditor } from "./text_editor.js";

export class ArtifactCard {
  element = element("article", { className: "card artifact" });

  #room;
  #id;
  #onWaiting;
  #editor = null;
  #plan = null;
  #isOpen = null;
  #openBefore = false;

  /** `onWaiting(proposalId)` leads to a proposal for this artifact. */
  constructor(room, id, onWaiting) {
    [this.#room, this.#id, this.#onWaiting] = [room, id, onWaiting];
    this.element.dataset.artifact = id;
    this.title = element("button", { type: "button", className: "title", onclick: () => this.#toggle() });
    this.badges = element("span", {});
    this.byline = element("p", { className: "byline quiet" });
    this.changed = element("div", {});
    this.body = element("div", { className: "body" });
    this.element.append(
      element("header", {}, element("h3", {}, this.title), this.badges),
      this.byline,
      this.changed,
      this.body,
    );
  }

  /** Show it as it is; open where nobody has said otherwise. */
  show(isOpenByDefault) {
    const artifact = this.#room.artifacts.get(this.#id);
    if (!artifact) return;
    const isOpen = this.#isOpen ?? isOpenByDefault;
    this.#openBefore = isOpen;
    this.title.replaceChildren(titleOf(artifact));
    this.title.setAttribute("aria-expanded", String(isOpen));
    this.#showBadges(artifact);
    for (const each of [this.byline, this.changed, this.body]) each.hidden = !isOpen;
    if (!isOpen) return;
    this.#showByline(artifact);
    if (this.#editor) return this.#editor.look();
    this.#showBody(artifact);
  }

  #toggle() {
    this.#isOpen = !this.#openBefore;
    this.show(this.#isOpen);
  }

  #showBadges({ kind, version }) {
    const waiting = [...this.#room.proposals.values()].filter(
      (each) => each.status === "pending" && each.change?.artifact_id === this.#id,
    );
    const badges = [`${kind}`, `version ${version}`].map((text) =>
      element("span", { className: "badge" }, text),
    );
    if (waiting.length) {
      const text = waiting.length === 1 ? "1 proposal waits" : `${waiting.length} proposals wait`;
      const lead = () => this.#onWaiting(waiting[0].id);
      badges.push(button(text, lead, { className: "badge is-pending" }));
    }
    this.badges.replaceChildren(...badges);
  }

  #showByline(artifact) {
    const { version, updated_by: actor, at } = artifact;
    const verb = version === 1 ? "Written" : "Last changed";
    const line = element("span", {}, `${verb} by ${by(actor, this.#room.actor)}`);
    if (at) line.append(" ", time(at));
    else this.#fillMoment(artifact);
    const actions = [];
    if (version > 1) actions.push(button("What changed", () => this.#showChange(), { className: "plain" }));
    if (isText(artifact.data) && this.#room.may.edit && !this.#editor) {
      actions.push(button("Edit", () => this.#edit(), { className: "plain" }));
    }
    for (const each of actions) each.append(element("span", { className: "aside" }, ` ${titleOf(artifact)}`));
    this.byline.replaceChildren(line, ...actions);
  }

  /** A list does not say when each was changed; its revision does. */
  async #fillMoment({ id, version }) {
    const found = await this.#room.revision(id, version).catch(() => null);
    const held = this.#room.artifacts.get(id);
    if (!found || held?.version !== version) return;
    held.at = found.at;
    this.#showByline(held);
  }

  #showBody(artifact) {
    const { kind, data, before } = artifact;
    if (isPlan(kind, data)) {
      this.#plan ??= new PlanView(this.#room, this.#id);
      this.#plan.show(artifact, before?.data);
      if (this.body.firstChild !== this.#plan.element) this.body.replaceChildren(this.#plan.element);
      return;
    }
    const isPlain = isText(data) && Object.keys(data).length === 1;
    if (!isPlain) return this.body.replaceChildren(dataView(data));
    const fresh = before ? addedLines(linesOf(kind, before.data), linesOf(kind, data)) : new Set();
    const text = data.text.trim() ? markdown(data.text, fresh) : element("p", { className: "quiet" }, "Empty.");
    this.body.replaceChildren(text);
  }

  async #showChange() {
    if (this.changed.firstChild) return this.changed.replaceChildren();
    const { kind, version } = this.#room.artifacts.get(this.#id);
    const [old, now] = await Promise.all(
      [version - 1, version].map((each) => this.#room.revision(this.#id, each)),
    );
    const hide = button("Hide", () => this.changed.replaceChildren(), { className: "plain" });
    this.changed.replaceChildren(
      element("p", { className: "quiet" }, `From version ${old.version} to ${now.version} `, hide),
      changeView(kind, old.data, now.data, "What changed last"),
    );
  }

  /** What is shown of a change is of the version before. */
  renew(isOpenByDefault) {
    this.changed.replaceChildren();
    this.show(isOpenByDefault);
  }

  #edit() {
    const artifact = this.#room.artifacts.get(this.#id);
    this.#editor = new TextEditor(this.#room, artifact, () => {
      this.#editor = null;
      this.show(true);
      this.byline.querySelector("button:last-of-type")?.focus();
    });
    this.body.replaceChildren(this.#editor.element);
    this.#showByline(artifact);
    this.#editor.start();
  }
}
