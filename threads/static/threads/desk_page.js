/** A page that is kept up to date: its logs, the line that says how that goes, what is said. */

import { connect } from "./artifactr.js";

/** A site without sockets is left alone after so many tries. */
const TRIES = 5;

/** An element with properties and content; text stays text. */
export function element(tag, properties = {}, ...content) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...content);
  return made;
}

/** How a person calls an actor. */
export function nameOf(actor) {
  const version = actor.kind === "evaluator" ? ` ${actor.version}` : "";
  return (actor.name ?? actor.id ?? actor.client_id) + version;
}

/** The page again, by a link. */
export function reloadLink(text) {
  return element("a", { href: location.pathname + location.search }, text);
}

export class Page {
  constructor(place) {
    const { places, ...shown } = JSON.parse(place.dataset.live);
    this.places = Object.entries(places);
    this.shown = shown;
    this.state = element("p", { className: "artifactr-live-state" });
    this.notice = element("div", { role: "status" });
    place.append(this.state, this.notice);
  }

  /** Follow the logs of this page from where it was made; `listen(log, workspaceId)` for each. */
  follow(options, listen) {
    const logs = this.places.map(([workspaceId, resumeAfterSeq]) => {
      const log = connect({ workspaceId, resumeAfterSeq, ...options });
      listen(log, workspaceId);
      return log;
    });
    for (const log of logs) {
      let tries = 0;
      log.onState((state) => {
        if (state === "live") tries = -Infinity;
        if (state === "offline" && (tries += 1) >= TRIES) log.close();
        this.#tell(logs, tries);
      });
    }
  }

  /** Show what was said last; nothing hides it. */
  say(...content) {
    this.notice.replaceChildren();
    if (content.length) {
      this.notice.append(element("div", { className: "artifactr-note is-warning" }, ...content));
    }
  }

  #tell(logs, tries) {
    const closed = logs.find((log) => log.state === "closed");
    const isLive = logs.every((log) => log.state === "live");
    const wasLive = tries < 0;
    this.state.classList.toggle("is-live", isLive);
    if (closed) this.state.textContent = wasLive ? `Not live: ${closed.reason}` : "";
    else if (!isLive) this.state.textContent = wasLive ? "Reconnecting…" : "";
    else this.state.textContent = this.shown.is_partial ? `Live: ${logs.length} logs` : "Live";
  }
}
