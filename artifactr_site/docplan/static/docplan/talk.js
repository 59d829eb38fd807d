/** The open chat: what was said and what happened in between, in the order of the log. */

import { button, element, isSame, time, who } from "./dom.js";
import { Verdicts } from "./feedback.js";
import { isText, titleOf } from "./kinds.js";
import { LiveRun } from "./live.js";
import { markdown } from "./markdown.js";
import { ProposalCard } from "./proposal_card.js";

const PAGE = 200;
/** So near to the end counts as being there. */
const NEAR = 80;
const MARKS = { ok: "✓", error: "✗", retry: "↻" };
const ENDED = { stopped: "was stopped", failed: "could not finish" };

export class Talk {
  element = element("div", { className: "talk", tabIndex: 0 });
  list = element("ol", { className: "lines" });

  #room;
  #threadId = "";
  #seen = new Set();
  #cards = new Map();
  #tools = new Map();
  #verdicts;
  #live = new Map();
  #early = null;
  /** Whether the reader is at the end, and stays there whatever comes. */
  #isAtEnd = true;
  #height = 0;

  constructor(room) {
    this.#room = room;
    this.#verdicts = new Verdicts(room);
    this.list.setAttribute("role", "log");
    this.list.setAttribute("aria-label", "What was said");
    this.earlier = button("Show what came before", () => this.#showEarlier(), { hidden: true });
    this.newest = button("↓ Newest", () => this.#toEnd(), { className: "newest", hidden: true });
    this.lives = element("div", {});
    this.element.append(this.earlier, this.list, this.lives, this.newest);
    this.element.addEventListener("scroll", () => this.#scrolled());
    const sizes = new ResizeObserver(() => this.#keepEnd());
    for (const each of [this.element, this.list, this.lives]) sizes.observe(each);
    room.on("event", (envelope) => this.#happened(envelope));
    room.on("run", (threadId) => threadId === this.#threadId && this.#showRun());
    room.log.onLive("*", (event, runId) => this.#hear(event, runId));
  }

  /** Whether a proposal is to be seen here. */
  shows(proposalId) {
    return this.#cards.has(proposalId);
  }

  /** Show a thread from its newest page on. */
  async open(threadId) {
    this.#threadId = threadId;
    for (const each of [this.#seen, this.#cards, this.#tools, this.#live]) each.clear();
    this.list.replaceChildren();
    this.lives.replaceChildren();
    this.earlier.hidden = true;
    // What happens while the page is read is kept, and told after it.
    const early = (this.#early = []);
    const events = await this.#room.events(threadId, { last: PAGE });
    if (this.#threadId !== threadId || this.#early !== early) return;
    this.#early = null;
    for (const each of [...this.#since(events), ...early]) this.#add(each);
    this.#offerEarlier(events);
    if (!this.list.children.length) this.#welcome();
    this.#showRun();
    this.#toEnd();
  }

  #happened(envelope) {
    if (this.#early) return void this.#early.push(envelope);
    // Who says something wants to see what comes of it.
    if (this.#add(envelope) && isSame(envelope.actor, this.#room.actor)) this.#toEnd();
  }

  async #showEarlier() {
    const [threadId, first] = [this.#threadId, Math.min(...this.#seen)];
    const events = await this.#room.events(threadId, { last: PAGE, before: first });
    if (this.#threadId !== threadId) return;
    const anchor = this.list.firstElementChild;
    const top = anchor?.getBoundingClientRect().top ?? 0;
    for (const each of this.#since(events)) this.#add(each, anchor);
    this.#offerEarlier(events);
    if (anchor) this.element.scrollTop += anchor.getBoundingClientRect().top - top;
  }

  /** What happened to the work before the chat was opened is not part of it. */
  #since(events) {
    return events.slice(Math.max(0, this.#beginning(events)));
  }

  #beginning(events) {
    return events.findIndex(
      ({ event }) => event.type === "thread_created" && event.thread_id === this.#threadId,
    );
  }

  #offerEarlier(events) {
    this.earlier.hidden = events.length < PAGE || this.#beginning(events) >= 0;
  }

  /** Put an event where it belongs; whether there is something to see of it. */
  #add(envelope, before = null) {
    const { seq, event, thread_id: place } = envelope;
    if (this.#seen.has(seq) || (place && place !== this.#threadId)) return false;
    this.#seen.add(seq);
    const show = this[`_${event.type}`];
    const content = show?.call(this, event, envelope);
    if (!content) return false;
    this.list.querySelector(".welcome")?.remove();
    this.list.insertBefore(element("li", {}, content), before);
    return true;
  }

  #welcome() {
    const text = this.#room.may.chat
      ? "Nothing was said here yet. Ask for something: the agent reads and changes the work with you."
      : "Nothing was said here yet.";
    this.list.append(element("li", { className: "welcome quiet" }, text));
  }

  // What each event looks like

  _feedback_given(event, envelope) {
    this.#verdicts.hear(event, envelope);
  }

  _message_posted(event, { actor, ts }) {
    const { content, kind, run_id: runId, message_id: id } = event;
    this.#live.get(runId)?.clear();
    const classes = ["message", `by-${actor.kind}`];
    if (isSame(actor, this.#room.actor)) classes.push("is-mine");
    if (kind === "notice") classes.push("is-notice");
    const head = element("header", {}, element("strong", {}, this.#who(actor)), " ", time(ts));
    if (kind === "notice") head.append(" ", element("span", { className: "badge" }, "notice"));
    const verdict = this.#verdicts.below(event);
    const made = element("article", { className: classes.join(" ") }, head, markdown(content), verdict);
    made.dataset.message = id;
    return made;
  }

  _tool_called({ tool_name: tool, args_summary: args, tool_call_id: id, run_id: run }) {
    const mark = element("span", { className: "mark", ariaHidden: "true" }, "·");
    const outcome = element("span", { className: "aside" });
    const summary = element("summary", {}, mark, " ", element("code", {}, tool), ` ${args}`, outcome);
    const line = element("details", { className: "happening tool" }, summary);
    if (args) line.append(element("pre", {}, args));
    this.#tools.set(`${run} ${id}`, { line, mark, outcome });
    return line;
  }

  _tool_returned({ tool_name: tool, tool_call_id: id, run_id: run, status, summary }) {
    const known = this.#tools.get(`${run} ${id}`);
    const words = { ok: "done", error: "failed", retry: "to be tried again" }[status];
    if (!known) return this.#line(`${MARKS[status]} ${tool} ${summary}`);
    known.mark.textContent = MARKS[status];
    known.outcome.textContent = `: ${words}`;
    known.line.classList.add(`is-${status}`);
    if (summary) known.line.append(element("pre", {}, summary));
    return null;
  }

  _artifact_created({ kind, data, artifact_id: id }, { actor }) {
    return this.#line(`${this.#who(actor)} created the ${kind} “${titleOf({ kind, id, data })}”`);
  }

  _artifact_changed({ artifact_id: id, version, summary, kind, proposal_id: proposal }, { actor }) {
    if (proposal && this.#cards.has(proposal)) return null;
    const held = this.#room.artifacts.get(id);
    const name = held && !isText(held.data) ? kind : `${kind} “${held ? titleOf(held) : id}”`;
    return this.#line(`${this.#who(actor)} changed the ${name}, now version ${version}: ${summary}`);
  }

  _artifact_archived({ artifact_id: id, kind }, { actor }) {
    return this.#line(`${this.#who(actor)} archived the ${kind} ${id}`);
  }

  _proposal_created({ proposal_id: id, group_id: group }, { thread_id: place }) {
    if (place !== this.#threadId) return null;
    if (group) return this.#grouped(group, id);
    const card = new ProposalCard(this.#room, [id]);
    this.#cards.set(id, card);
    return card.element;
  }

  /** Proposals of a group are one card, where the last of them was made. */
  #grouped(group, id) {
    const known = this.#cards.get(group);
    const ids = [...(known?.ids ?? []), id];
    known?.card.element.closest("li")?.remove();
    const card = new ProposalCard(this.#room, ids, group);
    this.#cards.set(group, { card, ids });
    for (const each of ids) this.#cards.set(each, card);
    return card.element;
  }

  _proposal_resolved(event, envelope) {
    const { proposal_id: id, decision, reason } = event;
    const { actor, thread_id: place } = envelope;
    this.#room.recall(event, envelope);
    if (this.#cards.has(id) || place !== this.#threadId) return null;
    const line = `${this.#who(actor)} ${decision}ed a proposal`;
    return this.#line(reason ? `${line}: ${reason}` : line);
  }

  _thread_mode_changed({ mode }, { actor }) {
    const what = mode === "suggest" ? "only suggests changes now" : "may change things itself now";
    return this.#line(`The agent ${what} (${this.#who(actor)})`);
  }

  _run_started({ retry_of: earlier }) {
    return earlier ? this.#line("The agent's process was lost; it takes this again.") : null;
  }

  _run_paused({ requests }) {
    const asked = requests.map(({ kind, args, tool_name: tool }) =>
      kind === "approval" ? `May it use ${tool}?` : (args.question ?? tool),
    );
    return this.#line(`The agent waits for an answer: ${asked.join(" · ")}`, "is-waiting");
  }

  _deferred_answered({ answer, approved }, { actor }) {
    const verdict = { true: "approved it", false: "refused it" }[approved] ?? "answered";
    const words = answer === undefined || answer === null ? "" : `: ${asText(answer)}`;
    return this.#line(`${this.#who(actor)} ${verdict}${words}`);
  }

  _run_ended({ status, error, reason }) {
    if (status === "completed") return null;
    const why = error ?? reason;
    const text = `The agent ${ENDED[status]}${why && status === "failed" ? `: ${why}` : ""}`;
    return this.#line(text, `is-${status}`);
  }

  #line(text, className = "") {
    return element("p", { className: `happening ${className}`, title: text }, text);
  }

  #who(actor) {
    return who(actor, this.#room.actor);
  }

  // What goes on

  #showRun() {
    const run = this.#room.runOf(this.#threadId);
    for (const [id, live] of this.#live) {
      if (run?.id === id && run.status === "running") continue;
      live.element.remove();
      this.#live.delete(id);
    }
    if (run?.status === "running") this.#liveOf(run.id);
  }

  #liveOf(runId) {
    const known = this.#live.get(runId);
    if (known) return known;
    const live = new LiveRun("The agent");
    this.#live.set(runId, live);
    this.lives.append(live.element);
    return live;
  }

  #hear(event, runId) {
    const run = this.#room.runs.get(runId);
    if (run?.thread_id === this.#threadId && !this.#early) this.#liveOf(runId).take(event);
  }

  #scrolled() {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    // Told late, after something grew: it was not the reader who left, and sizes are told next.
    const hasGrown = scrollHeight !== this.#height;
    this.#height = scrollHeight;
    if (this.#isAtEnd && hasGrown) return;
    this.#isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.newest.hidden = this.#isAtEnd;
  }

  #keepEnd() {
    if (this.#isAtEnd) this.#toEnd();
    else this.#scrolled();
  }

  #toEnd() {
    this.#isAtEnd = true;
    this.#height = this.element.scrollHeight;
    this.element.scrollTop = this.#height;
    this.newest.hidden = true;
  }
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
