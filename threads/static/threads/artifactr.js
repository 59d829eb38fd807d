/**
 * A client of the live protocol `artifactr.v1`: one ordered log, whatever becomes of the socket.
 *
 *     const log = connect({ workspaceId: "wsp_1" });
 *     log.on("proposal_created", (event, envelope) => { … });
 *     await log.command({ type: "create_thread", title: "Plans" });
 *
 * It resumes after the last seq it has, hands every event on once and in order, and repeats a
 * command under its id until it is answered. It renders nothing and has no dependency.
 *
 * @typedef {object} Options
 * @property {string} [workspaceId] Whose log; the socket is then at its place on this site.
 * @property {string | URL} [url] The socket, where it is elsewhere.
 * @property {string[]} [threads] Follow these threads only; artifacts and proposals always come.
 * @property {number} [resumeAfterSeq] The last seq that is known already.
 * @property {boolean} [fromHead] Begin with what happens from now on.
 * @property {string} [key] An API key; without one the session's cookie speaks.
 * @property {boolean} [whileVisible] Let go while the page is hidden, and resume when it is seen.
 * @typedef {"connecting" | "live" | "offline" | "closed"} State
 * @typedef {(...told: any[]) => void} Handler
 */

const PROTOCOL = "artifactr.v1";
/** Codes after which coming back would end the same way. @type {Record<number, string>} */
const FINAL = {
  4400: "this protocol is not spoken there",
  4401: "not signed in",
  4403: "refused",
  4404: "there is no such workspace",
};
const TOO_SLOW = 4429;
/** A server or a proxy has a bound for one message, and closes without a word for which it was. */
const TOO_BIG = 1009;
const MS = { firstWait: 500, longestWait: 30_000, welcomeWithin: 15_000, hiddenFor: 30_000 };

/** The live event after which those that a run goes on with begin again from the first one. */
export const RESTARTED = { type: "app_live", name: "artifactr.restarted", data: null };

/**
 * A command was refused, and `rejection` has the details; or the connection has ended for good, and
 * `code` is why. What was not answered by then may still have been carried out.
 */
export class Refused extends Error {
  /** @param {string | number} code @param {string} message @param {object | null} [rejection] */
  constructor(code, message, rejection = null) {
    super(message);
    Object.assign(this, { code, rejection });
  }
}

/** Connect to a workspace's log. */
export function connect(/** @type {Options} */ options) {
  return new Connection(options);
}

class Connection {
  state = /** @type {State} */ ("connecting");
  reason = "";
  /** The last seq handed on. */
  lastSeq = 0;
  /** Those that had not ended when the server last said welcome. */
  activeRuns = /** @type {{ run_id: string, thread_id: string }[]} */ ([]);

  #options;
  #url;
  #fromHead;
  #seesAll;
  #isWelcome = false;
  #attempt = 0;
  #complaint = "";
  #over = new AbortController();
  #closed = /** @type {Refused | null} */ (null);
  #socket = /** @type {WebSocket | null} */ (null);
  #timer = 0;
  #hiding = 0;
  /** Commands without an answer, by id. */
  #pending = /** @type {Map<string, any>} */ (new Map());
  /** Ids that were sent on this socket and have no answer yet, also of those nobody waits for. */
  #asked = /** @type {Set<string>} */ (new Set());
  /** Runs to ask for again, and those heard since the last welcome. */
  #watched = /** @type {Set<string>} */ (new Set());
  #heard = /** @type {Set<string>} */ (new Set());
  #handlers = /** @type {Map<string, Set<Handler>>} */ (new Map());

  constructor(/** @type {Options} */ options) {
    const path = `/ws/v1/workspaces/${encodeURIComponent(options.workspaceId ?? "")}/stream`;
    this.#url = new URL(options.url ?? path, location.href);
    this.#url.protocol = this.#url.protocol.replace("http", "ws");
    this.#options = options;
    this.#fromHead = options.fromHead ?? false;
    this.#seesAll = options.threads === undefined;
    this.lastSeq = options.resumeAfterSeq ?? 0;
    const { signal } = this.#over;
    addEventListener("online", () => this.#look(true), { signal });
    document.addEventListener("visibilitychange", () => this.#look(), { signal });
    this.#open();
    this.#look();
  }

  /** Hear of events: `fn(event, envelope)`, for one type or `"*"`. Returns what undoes it. */
  on(/** @type {string} */ type, /** @type {Handler} */ fn) {
    return this.#add(`event ${type}`, fn);
  }

  /** Hear of live frames: `fn(event, runId)`, for one run or `"*"`. */
  onLive(/** @type {string} */ runId, /** @type {Handler} */ fn) {
    return this.#add(`live ${runId}`, fn);
  }

  /** Hear of the connection: `fn(state, reason)`, now and at each change. */
  onState(/** @type {(state: State, reason: string) => void} */ fn) {
    fn(this.state, this.reason);
    return this.#add("state", fn);
  }

  /** The log is not the one that was read: forget everything; it all comes again. */
  onReset(/** @type {Handler} */ fn) {
    return this.#add("reset", fn);
  }

  /**
   * Send a command; its outcome, or `Refused`. Over drops it is repeated under the same id.
   * Aborting stops waiting, which does not take back what the server may have done.
   * @param {object} command
   * @param {{ commandId?: string, signal?: AbortSignal, timeout?: number }} [how]
   * @returns {Promise<any>}
   */
  command(command, { commandId = newId(), signal, timeout } = {}) {
    if (this.#closed) return Promise.reject(this.#closed);
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!ID.test(commandId) || commandId.length > 128) {
      // The answer could not name it.
      return Promise.reject(new Refused("validation_failed", "commandId: no id of the protocol"));
    }
    const known = this.#pending.get(commandId);
    if (known) return known.promise;
    const answered = new AbortController();
    const frame = { type: "command", command_id: commandId, command };
    const pending = /** @type {any} */ ({ frame });
    const answer = new Promise((resolve, reject) => Object.assign(pending, { resolve, reject }));
    pending.promise = answer.finally(() => {
      this.#pending.delete(commandId);
      answered.abort();
    });
    this.#pending.set(commandId, pending);
    for (const each of [signal, timeout === undefined ? null : AbortSignal.timeout(timeout)]) {
      const giveUp = () => pending.reject(each?.reason);
      each?.addEventListener("abort", giveUp, { signal: answered.signal });
    }
    this.#send(frame);
    return pending.promise;
  }

  /** Get the live frames of a run whose thread is not followed, until it ends. */
  async watchRun(/** @type {string} */ runId) {
    const outcome = await this.command({ type: "watch_run", run_id: runId });
    this.#watched.add(runId);
    return outcome;
  }

  /** End it. */
  close() {
    this.#end(1000, "closed by this page");
  }

  #open() {
    this.#letGo();
    this.#tell("connecting");
    if (this.#closed) return; // by who was told
    const { key, threads } = this.#options;
    const socket = new WebSocket(this.#url, key ? [PROTOCOL, `artifactr.key.${key}`] : [PROTOCOL]);
    this.#socket = socket;
    this.#timer = setTimeout(() => this.#dropped(0), MS.welcomeWithin);
    socket.onopen = () => {
      const place = this.#fromHead ? { from_head: true } : { resume_after_seq: this.lastSeq };
      socket.send(JSON.stringify({ type: "hello", protocol: PROTOCOL, threads, ...place }));
    };
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = ({ code }) => this.#dropped(code);
  }

  #letGo() {
    clearTimeout(this.#timer);
    this.#isWelcome = false;
    this.#asked.clear();
    if (!this.#socket) return;
    this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
  }

  #dropped(/** @type {number} */ code) {
    if (code in FINAL) return this.#end(code, this.#complaint || FINAL[code]);
    if (code === TOO_BIG) this.#refuseLargest();
    this.#letGo();
    const isAtOnce = code === TOO_SLOW && this.#attempt === 0;
    // Full jitter: clients of a server that went away come back spread out.
    const wait = Math.random() * Math.min(MS.longestWait, MS.firstWait * 2 ** this.#attempt);
    this.#attempt += 1;
    this.#timer = setTimeout(() => this.#open(), isAtOnce ? 0 : wait);
    this.#tell("offline", code === TOO_SLOW ? "too slow" : "the connection was lost");
  }

  #end(/** @type {number} */ code, /** @type {string} */ reason) {
    if (this.#closed) return;
    this.#letGo();
    clearTimeout(this.#hiding);
    this.#over.abort();
    this.#closed = new Refused(code, reason);
    for (const each of this.#pending.values()) each.reject(this.#closed);
    this.#tell("closed", reason);
  }

  /** Somebody looks, or the network is another: do not sit out a wait, nor trust an old socket. */
  #look(isNewNetwork = false) {
    clearTimeout(this.#hiding);
    if (this.#options.whileVisible && document.visibilityState === "hidden") {
      this.#hiding = setTimeout(() => {
        this.#letGo();
        this.#tell("offline", "hidden");
      }, MS.hiddenFor);
    } else if (this.state === "offline" || (isNewNetwork && this.state === "live")) {
      this.#attempt = 0;
      this.#open();
    }
  }

  #receive(/** @type {any} */ frame) {
    if (frame.type === "event") return this.#take(frame);
    if (frame.type === "live") return this.#hear(frame);
    if (frame.type === "command_result") return this.#answered(frame);
    if (frame.type === "welcome") return this.#welcomed(frame);
    if (frame.type === "error") return this.#complained(frame.message);
    if (frame.type !== "replay_complete") return; // of a newer server
    this.lastSeq = Math.max(this.lastSeq, frame.up_to_seq);
    this.#attempt = 0;
    this.#tell("live");
  }

  #welcomed(/** @type {any} */ { head_seq, reset, active_runs }) {
    clearTimeout(this.#timer);
    this.#isWelcome = true;
    this.#complaint = "";
    this.activeRuns = active_runs;
    if (reset || this.#fromHead) this.lastSeq = reset ? 0 : head_seq;
    this.#fromHead = false;
    if (reset) this.#call("reset");
    for (const run of this.#heard) this.#hear({ run_id: run, event: RESTARTED });
    this.#heard.clear();
    for (const { frame } of this.#pending.values()) this.#send(frame);
    for (const run of this.#watched) this.watchRun(run).catch(() => this.#watched.delete(run));
  }

  #take(/** @type {any} */ { type: _, ...envelope }) {
    const { seq, event } = envelope;
    if (seq <= this.lastSeq) return;
    if (seq > this.lastSeq + 1 && this.#seesAll) {
      // A replay lacks only what is hidden from this reader, for whom gaps are usual then.
      if (this.state === "live") return this.#open();
      this.#seesAll = false;
    }
    this.lastSeq = seq;
    this.#attempt = 0;
    this.#call(`event ${event.type}`, event, envelope);
    this.#call("event *", event, envelope);
    if (event.type === "run_ended") this.#watched.delete(event.run_id);
  }

  #hear(/** @type {{ run_id: string, event: any }} */ { run_id: run, event }) {
    this.#heard.add(run);
    this.#call(`live ${run}`, event, run);
    this.#call("live *", event, run);
  }

  /** A frame was not understood. It is told without an id, so only a single one can be meant. */
  #complained(/** @type {string} */ message) {
    this.#complaint = message;
    if (this.#asked.size !== 1) return;
    const [id] = this.#asked;
    this.#asked.clear();
    this.#pending.get(id)?.reject(new Refused("error", message));
  }

  /** Sent again and again, it would end every socket. */
  #refuseLargest() {
    const size = (/** @type {any} */ { frame }) => JSON.stringify(frame).length;
    const [largest] = [...this.#pending.values()].sort((one, other) => size(other) - size(one));
    largest?.reject(new Refused("too_large", "the command is larger than the server takes"));
  }

  #answered(/** @type {any} */ { command_id: id, ok, outcome, rejection }) {
    this.#asked.delete(id);
    const pending = this.#pending.get(id);
    const again = () => this.#pending.has(id) && this.#send(pending.frame);
    if (ok) pending?.resolve(outcome);
    else if (rejection.retry_after !== undefined) setTimeout(again, rejection.retry_after * 1000);
    else pending?.reject(new Refused(rejection.type, rejection.message, rejection));
  }

  #send(/** @type {{ command_id: string }} */ frame) {
    if (!this.#isWelcome) return;
    this.#asked.add(frame.command_id);
    this.#socket?.send(JSON.stringify(frame));
  }

  #tell(/** @type {State} */ state, reason = "") {
    this.state = state;
    this.reason = reason;
    this.#call("state", state, reason);
  }

  #add(/** @type {string} */ name, /** @type {Handler} */ fn) {
    const fns = this.#handlers.get(name) ?? new Set();
    this.#handlers.set(name, fns.add(fn));
    return () => void fns.delete(fn);
  }

  /** A handler that fails is the page's own mistake: it is reported, and the others still hear. */
  #call(/** @type {string} */ name, /** @type {any[]} */ ...told) {
    for (const fn of [...(this.#handlers.get(name) ?? [])]) {
      try {
        fn(...told);
      } catch (error) {
        reportError(error);
      }
    }
  }
}

const ID = /^[^\0/\p{Surrogate}]+$/u;
const newId = () => `cmd_${crypto.getRandomValues(new BigUint64Array(1))[0].toString(16)}`;
