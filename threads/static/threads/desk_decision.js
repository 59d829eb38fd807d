/** A decision page: says at once when what it shows is no longer so, and keeps what was typed. */

import { element, nameOf, reloadLink } from "./desk_page.js";

const VERBS = {
  artifact_archived: "archived",
  artifact_changed: "changed",
  artifact_created: "created",
};
const DECIDED = { accept: "accepted", reject: "rejected" };

export function followDecision(page) {
  const { artifacts, proposals } = page.shown;
  const form = document.querySelector("form#decide");
  const changes = new Map();
  let decision = "";
  let isSent = false;
  page.notice.role = "alert";
  form?.addEventListener("submit", () => (isSent = true));

  function tell() {
    if (isSent) return; // what comes now is this page's own doing
    const lines = decision ? [decision] : [...changes.values()];
    const said = lines.map((line) => element("p", {}, line));
    page.say(...said, element("p", {}, form ? again() : reloadLink("Show it as it is now")));
  }

  function changed(event, { actor }) {
    const { artifact_id: id, version } = event;
    if (!(version > artifacts[id]) || proposals.includes(event.proposal_id)) return;
    const what = proposals.length > 1 ? id : "this artifact";
    const verb = VERBS[event.type];
    const line = `${nameOf(actor)} has ${verb} ${what} meanwhile: it is at version ${version} now.`;
    changes.set(id, artifacts[id] ? `${line} This page shows version ${artifacts[id]}.` : line);
    tell();
  }

  function resolved(event, { actor }) {
    if (!proposals.includes(event.proposal_id)) return;
    const what = proposals.length > 1 ? "these proposals" : "this proposal";
    decision = `${nameOf(actor)} has just ${DECIDED[event.decision]} ${what}.`;
    for (const button of document.querySelectorAll("button[name=decision]")) button.disabled = true;
    tell();
  }

  page.follow({ threads: [], whileVisible: true }, (log) => {
    for (const type of Object.keys(VERBS)) log.on(type, changed);
    log.on("proposal_resolved", resolved);
  });
}

/** The page as it is now, made by the server with everything that was typed. */
function again() {
  const button = element("button", { type: "submit", name: "decision", value: "look" });
  button.setAttribute("form", "decide");
  button.append("Show it as it is now");
  return element("span", {}, button, " What you typed is kept.");
}
