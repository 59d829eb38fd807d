/** A proposal, or a group of them, with what it changes and the two buttons that settle it. */

import { changeView } from "./change.js";
import { attempt, button, by, element, labelled, time, who } from "./dom.js";
import { titleOf } from "./kinds.js";

export class ProposalCard {
  element = element("article", { className: "card proposal", tabIndex: -1 });

  #room;
  #ids;
  #groupId;

  /** `ids` are all the proposals of one group, or the one that is alone. */
  constructor(room, ids, groupId = null) {
    [this.#room, this.#ids, this.#groupId] = [room, ids, groupId];
    this.element.dataset.proposals = ids.join(" ");
    room.on("proposal", (id) => this.#ids.includes(id) && this.#show());
    room.on("artifact", (id) => {
      const isHere = this.#proposals.some((each) => each?.change?.artifact_id === id);
      if (isHere && this.#isPending) this.#show();
    });
    this.#show();
  }

  get #proposals() {
    return this.#ids.map((id) => this.#room.proposals.get(id));
  }

  get #isPending() {
    return this.#proposals.every((each) => each?.status === "pending");
  }

  async #show() {
    const proposals = this.#proposals;
    if (proposals.some((each) => !each?.change)) return this.#showUnknown(proposals);
    const changes = await Promise.all(proposals.map((each) => this.#change(each)));
    const reason = this.element.querySelector("input[name=reason]")?.value ?? "";
    const [first] = proposals;
    const head = element(
      "header",
      {},
      element("strong", {}, who(first.proposed_by, this.#room.actor)),
      ` ${this.#isPending ? "proposes" : "proposed"} `,
      element("span", { className: `badge is-${first.status}` }, first.status),
    );
    const footer = this.#isPending ? this.#buttons(proposals, reason) : this.#settled(first);
    this.element.replaceChildren(head, ...changes, footer);
    this.element.classList.toggle("is-settled", !this.#isPending);
  }

  /** Not read yet: of one that the log says is settled, only if somebody asks. */
  #showUnknown(proposals) {
    const decided = proposals.find((each) => each?.decided);
    this.element.classList.toggle("is-settled", Boolean(decided));
    if (decided) {
      const show = button("What it was", () => this.#read(), { className: "plain" });
      this.element.replaceChildren(this.#settled(decided), show);
      return;
    }
    this.element.replaceChildren(element("p", { className: "quiet" }, "…"));
    // The next event of a page that is being read may be its decision.
    queueMicrotask(() => this.#proposals.some((each) => each?.decided) || this.#read());
  }

  async #read() {
    try {
      const unread = this.#ids.filter((id) => !this.#room.proposals.get(id)?.change);
      await Promise.all(unread.map((id) => this.#room.proposal(id)));
    } catch {
      this.element.replaceChildren(element("p", { className: "quiet" }, "A proposal that you cannot see."));
    }
  }

  async #change(proposal) {
    const { change, base_version: base, kind } = proposal;
    const head = this.#room.artifacts.get(change.artifact_id);
    const before = base
      ? await this.#room.revision(change.artifact_id, base).catch(() => null)
      : null;
    const shown = before ?? proposal;
    const name = titleOf({ kind, id: change.artifact_id, data: shown.data ?? proposal.result ?? {} });
    const what = base ? `Change of the ${kind} “${name}”` : `New ${kind} “${name}”`;
    const parts = [element("h4", {}, change.type === "archive_artifact" ? `Archive “${name}”` : what)];
    if (proposal.rationale) parts.push(element("blockquote", {}, proposal.rationale));
    if (this.#isPending && head && base && head.version !== base) {
      const moved = `Made on version ${base}, which is now ${head.version}: accepting puts it on top.`;
      parts.push(element("p", { className: "notice is-warning" }, moved));
    }
    if (proposal.result) parts.push(changeView(kind, before?.data ?? null, proposal.result));
    const details = element("details", { open: this.#isPending });
    details.append(element("summary", {}, parts[0]), ...parts.slice(1));
    return details;
  }

  #buttons(proposals, typed) {
    const room = this.#room;
    const form = element("form", { className: "decide" });
    const said = element("p", { className: "problem", role: "alert" });
    const links = [];
    if (room.desk) {
      const href = room.desk.replace("ID", encodeURIComponent(proposals[0].id));
      links.push(element("a", { href, className: "quiet" }, "Edit it first, at the review desk"));
    }
    if (!room.may.decide) {
      form.append(element("p", { className: "quiet" }, "A reviewer decides this."), ...links);
      return form;
    }
    const reason = element("input", { name: "reason", value: typed, placeholder: "Reason, if you like" });
    const decide = async (decision) => {
      // The buttons go away with the decision; who came by keyboard stays at this place.
      if (await attempt(form, said, () => this.#decide(decision, reason.value))) this.element.focus();
    };
    const all = proposals.length > 1 ? " all" : "";
    form.addEventListener("submit", (event) => event.preventDefault());
    form.append(
      labelled("Reason", reason),
      element(
        "div",
        { className: "buttons" },
        button(`Accept${all}`, () => decide("accept"), { className: "accept" }),
        button(`Reject${all}`, () => decide("reject"), { className: "reject" }),
        ...links,
      ),
      said,
    );
    return form;
  }

  async #decide(decision, reason) {
    const said = reason.trim() ? { reason: reason.trim() } : {};
    const expects = this.#proposals.map((each) => [each.id, this.#expect(each)]);
    const [what, expect] = this.#groupId
      ? [{ type: "resolve_group", group_id: this.#groupId }, Object.fromEntries(expects)]
      : [{ type: "respond_to_proposal", proposal_id: this.#ids[0] }, expects[0][1]];
    // Whatever became of it meanwhile, who rejects it does not want it.
    const shown = decision === "accept" ? { expect } : {};
    await this.#room.command({ ...what, decision, ...said, ...shown });
  }

  /** What is on the screen: deciding on something else is refused. */
  #expect({ proposal_sha256, change }) {
    const head_version = this.#room.artifacts.get(change.artifact_id)?.version ?? 0;
    return { proposal_sha256, head_version };
  }

  #settled({ status, decided }) {
    const parts = [status === "accepted" ? "Accepted" : "Rejected"];
    if (decided) parts.push(` by ${by(decided.by, this.#room.actor)} `, time(decided.at));
    if (decided?.version) parts.push(`, now version ${decided.version}`);
    if (decided?.reason) parts.push(`: ${decided.reason}`);
    return element("p", { className: `outcome is-${status}` }, ...parts);
  }
}
