/**
 * What the page knows of its workspace, and how it comes to know: REST for what there is, the log
 * for what happens. `room.on(name, fn)` tells the parts of the page what to show again:
 * `artifact` (id), `proposal` (id), `thread` (id), `run` (thread id), `event` (envelope).
 */

import { connect } from "../threads/artifactr.js";

const PAGE = 100;
const MOST_THREADS = 500;
/** What a proxy answers for a server that is away. */
const AWAY = new Set([502, 503, 504]);
const AWAY_MS = 500;

/** An address of the API under this workspace, without its query. */
const place = (...parts) => `${parts.map(encodeURIComponent).join("/")}/`;

export class Room {
  artifacts = new Map();
  proposals = new Map();
  threads = new Map();
  /** Runs that have not ended. */
  runs = new Map();
  hasMoreArtifacts = false;

  #handlers = new Map();
  #revisions = new Map();
  #asked = new Map();

  constructor(started) {
    Object.assign(this, started); // workspace, head, actor, may, api, desk
  }

  /** Read what there is, then hear of everything since the page was made. */
  async start() {
    await this.#load();
    this.log = connect({ workspaceId: this.workspace, resumeAfterSeq: this.head });
    this.log.on("*", (event, envelope) => this.#take(event, envelope));
    // Another log than the one this page was made from: nothing on it holds any more.
    this.log.onReset(() => location.reload());
  }

  on(name, fn) {
    const fns = this.#handlers.get(name) ?? [];
    this.#handlers.set(name, [...fns, fn]);
  }

  command(command) {
    return this.log.command(command);
  }

  async #load() {
    const [artifacts, threads, proposals, runs] = await Promise.all([
      this.get("artifacts/", { limit: PAGE }),
      this.#all("threads/", MOST_THREADS),
      this.#all("proposals/", MOST_THREADS, { status: "pending" }),
      this.#all("runs/", MOST_THREADS, { active: true }),
    ]);
    const entries = [artifacts.results, threads, proposals, runs];
    const families = ["artifacts", "threads", "proposals", "runs"];
    families.forEach((name, index) => {
      this[name] = new Map(entries[index].map((each) => [each.id, each]));
    });
    this.hasMoreArtifacts = Boolean(artifacts.next);
  }

  /** The next page of artifacts. */
  async loadMore() {
    const after = [...this.artifacts.keys()].at(-1);
    const { results, next } = await this.get("artifacts/", { limit: PAGE, after });
    for (const each of results) this.artifacts.set(each.id, each);
    this.hasMoreArtifacts = Boolean(next);
  }

  /** One version of an artifact; a version never changes, so it is asked for once. */
  revision(id, version) {
    const key = `${id}@${version}`;
    if (!this.#revisions.has(key)) {
      const asked = this.get(place("artifacts", id, "revisions", version));
      asked.catch(() => this.#revisions.delete(key));
      this.#revisions.set(key, asked);
    }
    return this.#revisions.get(key);
  }

  /** The last events of a thread, or those before a seq. */
  async events(threadId, { last, before }) {
    const query = { thread_id: threadId, last, ...(before ? { before_seq: before } : {}) };
    return (await this.get("events/", query)).results;
  }

  /** The run of a thread that has not ended. */
  runOf(threadId) {
    return [...this.runs.values()].find((run) => run.thread_id === threadId);
  }

  /** What a paused run still waits for. */
  waiting(run) {
    const answered = new Set(run.answers?.map((each) => each.tool_call_id));
    return (run.pending ?? []).filter((each) => !answered.has(each.tool_call_id));
  }

  async get(path, query = {}) {
    const search = new URLSearchParams(query).toString();
    const response = await this.#ask(`${this.api}${path}${search && `?${search}`}`);
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      throw new Error(problem.detail ?? `the server answered ${response.status}`);
    }
    return response.json();
  }

  /** Ask the server. One that is away is asked again once it is back, as the log does. */
  async #ask(url) {
    for (;;) {
      const asked = fetch(url, { headers: { Accept: "application/json" } });
      const response = await asked.catch((error) => error);
      const isAway = response instanceof Error || AWAY.has(response.status);
      if (isAway && this.log && this.log.state !== "closed") await this.#isBack();
      else if (response instanceof Error) throw response;
      else return response;
    }
  }

  /** A moment at least: the socket may not know yet that it fell. */
  async #isBack() {
    do await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
    while (this.log.state === "connecting" || this.log.state === "offline");
  }

  async #all(path, most, query = {}) {
    const found = [];
    let after;
    do {
      const page = await this.get(path, { ...query, limit: PAGE, ...(after ? { after } : {}) });
      found.push(...page.results);
      after = page.next && page.results.at(-1).id;
    } while (after && found.length < most);
    return found;
  }

  #take(event, envelope) {
    const take = this[`_${event.type}`];
    take?.call(this, event, envelope);
    this.#tell("event", envelope);
  }

  #tell(name, ...told) {
    for (const fn of this.#handlers.get(name) ?? []) fn(...told);
  }

  // What each event changes; one that tells what is known already changes nothing.

  _artifact_created({ artifact_id: id, kind, version, data }, { actor, ts }) {
    if (this.artifacts.has(id)) return;
    this.artifacts.set(id, { id, kind, version, data, updated_by: actor, at: ts, isNew: true });
    this.#tell("artifact", id);
  }

  _artifact_changed({ artifact_id: id, version }) {
    if (this.artifacts.get(id)?.version >= version) return;
    this.refresh(id).catch(() => null);
  }

  /**
   * Read an artifact as it is now. The patch of an event says what changed; the data itself is
   * read, so there is one engine for patches.
   */
  async refresh(id) {
    const found = await this.get(place("artifacts", id));
    const held = this.artifacts.get(id);
    if (found.archived || held?.version >= found.version) return held;
    this.artifacts.set(id, { ...found, before: held && { data: held.data, version: held.version } });
    this.#tell("artifact", id);
    return this.artifacts.get(id);
  }

  _artifact_archived({ artifact_id: id }) {
    if (this.artifacts.delete(id)) this.#tell("artifact", id);
  }

  _proposal_created({ proposal_id: id }) {
    this.proposal(id).catch(() => null);
  }

  /** Read a proposal; whoever asks at the same time shares the answer. */
  proposal(id) {
    if (!this.#asked.has(id)) this.#asked.set(id, this.#readProposal(id));
    return this.#asked.get(id);
  }

  async #readProposal(id) {
    try {
      const found = await this.get(place("proposals", id));
      const known = this.proposals.get(id);
      // A decision that the log told is newer than what was on its way.
      this.proposals.set(id, known?.decided ? { ...found, ...known } : found);
      this.#tell("proposal", id);
      return found;
    } finally {
      this.#asked.delete(id);
    }
  }

  _proposal_resolved(event, { actor, ts }) {
    const { proposal_id: id, decision, reason, version } = event;
    const known = this.proposals.get(id);
    if (known?.decided) return;
    const status = { accept: "accepted", reject: "rejected" }[decision];
    const decided = { by: actor, at: ts, reason, version };
    this.proposals.set(id, { ...known, id, status, decided });
    this.#tell("proposal", id);
  }

  /** A decision of the past, as the log tells it. */
  recall(event, envelope) {
    this._proposal_resolved(event, envelope);
  }

  _thread_created({ thread_id: id, title }) {
    if (this.threads.has(id)) return;
    this.threads.set(id, { id, title, mode: "edit", focus: [] });
    this.#tell("thread", id);
  }

  _thread_mode_changed({ thread_id: id, mode }) {
    this.#change(id, { mode });
  }

  _focus_changed({ thread_id: id, artifact_ids: focus }) {
    this.#change(id, { focus });
  }

  #change(id, changed) {
    const thread = this.threads.get(id);
    if (!thread) return;
    this.threads.set(id, { ...thread, ...changed });
    this.#tell("thread", id);
  }

  _run_started({ run_id: id, thread_id }) {
    this.#run({ id, thread_id, status: "running", pending: [], answers: [] });
  }

  _run_paused({ run_id: id, thread_id, requests }) {
    this.#run({ id, thread_id, status: "paused", pending: requests, answers: [] });
  }

  _deferred_answered({ run_id: id, thread_id, tool_call_id, answer, approved }) {
    const run = this.runs.get(id);
    const isKnown = run?.answers.some((each) => each.tool_call_id === tool_call_id);
    if (!run || isKnown) return;
    this.#run({ ...run, thread_id, answers: [...run.answers, { tool_call_id, answer, approved }] });
  }

  _run_ended({ run_id: id, thread_id }) {
    this.runs.delete(id);
    this.#tell("run", thread_id);
  }

  #run(run) {
    this.runs.set(run.id, run);
    this.#tell("run", run.thread_id);
  }
}
