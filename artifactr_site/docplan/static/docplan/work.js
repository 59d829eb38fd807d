/** The side of the page with the work: proposals made elsewhere, then each document and plan. */

import { ArtifactCard } from "./artifact_card.js";
import { attempt, button, element, labelled, newId } from "./dom.js";
import { ProposalCard } from "./proposal_card.js";

/** So many are open where a chat names none. */
const OPEN = 2;

export class Work {
  #room;
  #talk;
  #threadId = "";
  #cards = new Map();
  #waiting = new Map();

  /** `toChat()` shows the chat where only one part of the page is to be seen. */
  constructor(room, place, talk, toChat) {
    [this.#room, this.#talk, this.toChat] = [room, talk, toChat];
    this.elsewhere = element("div", { className: "elsewhere", hidden: true });
    this.list = element("div", {});
    this.more = button("Show more", () => this.#more(), { hidden: true });
    place.append(this.elsewhere, this.list, this.more);
    if (room.may.edit) place.append(this.#form());
    room.on("artifact", (id) => this.#renew(id));
    room.on("proposal", () => this.#show());
    room.on("thread", (id) => id === this.#threadId && this.#show());
    this.#show();
  }

  /** This chat is open now. */
  open(threadId) {
    this.#threadId = threadId;
    this.#show();
  }

  get #focus() {
    return this.#room.threads.get(this.#threadId)?.focus ?? [];
  }

  #renew(id) {
    this.#cards.get(id)?.renew(true);
    this.#show();
  }

  #show() {
    const focus = this.#focus;
    const isNamed = ({ id }) => focus.includes(id);
    const artifacts = [...this.#room.artifacts.values()];
    const sorted = [...artifacts.filter(isNamed), ...artifacts.filter((each) => !isNamed(each))];
    for (const [id, card] of this.#cards) {
      if (this.#room.artifacts.has(id)) continue;
      card.element.remove();
      this.#cards.delete(id);
    }
    sorted.forEach((each, index) => {
      const card = this.#cardOf(each.id);
      card.show(focus.length ? isNamed(each) : index < OPEN);
      // Moving an element loses its focus and scroll, so it moves only if it must.
      if (this.list.children[index] !== card.element) {
        this.list.insertBefore(card.element, this.list.children[index] ?? null);
      }
    });
    this.more.hidden = !this.#room.hasMoreArtifacts;
    this.#showElsewhere();
  }

  #cardOf(id) {
    if (!this.#cards.has(id)) {
      this.#cards.set(id, new ArtifactCard(this.#room, id, (proposal) => this.#leadTo(proposal)));
    }
    return this.#cards.get(id);
  }

  /** Pending proposals that the open chat does not show. */
  #showElsewhere() {
    const groups = new Map();
    for (const { id, status, group_id: group } of this.#room.proposals.values()) {
      if (status !== "pending" || this.#talk.shows(id)) continue;
      const key = group ?? id;
      groups.set(key, { group, ids: [...(groups.get(key)?.ids ?? []), id] });
    }
    for (const [key, { card, ids }] of this.#waiting) {
      if (groups.get(key)?.ids.join() === ids.join()) continue;
      card.element.remove();
      this.#waiting.delete(key);
    }
    for (const [key, { group, ids }] of groups) {
      if (this.#waiting.has(key)) continue;
      const card = new ProposalCard(this.#room, ids, group);
      this.#waiting.set(key, { card, ids });
      this.elsewhere.append(card.element);
    }
    this.elsewhere.hidden = !groups.size;
    if (groups.size && !this.elsewhere.querySelector("h3")) {
      this.elsewhere.prepend(element("h3", {}, "Proposals from elsewhere"));
    }
  }

  #leadTo(proposalId) {
    const card = document.querySelector(`[data-proposals~="${CSS.escape(proposalId)}"]`);
    if (!card) return;
    if (this.#talk.shows(proposalId)) this.toChat();
    card.scrollIntoView({ block: "center" });
    const control = card.querySelector("button.accept") ?? card.querySelector("summary");
    control?.focus({ preventScroll: true });
  }

  async #more() {
    this.more.disabled = true;
    await this.#room.loadMore().catch(() => null);
    this.more.disabled = false;
    this.#show();
  }

  #form() {
    const title = element("input", { name: "title", required: true, autocomplete: "off" });
    const said = element("p", { className: "problem", role: "alert" });
    const form = element(
      "form",
      { className: "line-form new-artifact" },
      labelled("New, called", title),
      element("button", { type: "submit", value: "doc" }, "Document"),
      element("button", { type: "submit", value: "plan" }, "Plan"),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const name = title.value.trim();
      const kind = event.submitter?.value ?? "doc";
      if (name && (await attempt(form, said, () => this.#create(kind, name)))) form.reset();
    });
    return element("div", {}, form, said);
  }

  async #create(kind, name) {
    const artifact_id = newId("art");
    const data = kind === "doc" ? { text: `# ${name}\n` } : { goal: name };
    await this.#room.command({ type: "create_artifact", artifact_id, kind, data });
    const focus = [...this.#focus, artifact_id];
    if (!this.#threadId) return;
    await this.#room.command({ type: "set_focus", thread_id: this.#threadId, artifact_ids: focus });
  }
}
