/**
 * The review queue: says what is new, what agents ask included, and marks what somebody has settled
 * meanwhile.
 */

import { element, nameOf, reloadLink } from "./desk_page.js";

const STATUS = { accept: "accepted", reject: "rejected" };

export function followQueue(page) {
  const title = document.title;
  const fresh = new Set();
  const asked = new Map();
  let decided = 0;

  function tell() {
    const said = [];
    if (fresh.size) said.push(`${fresh.size} new proposal${fresh.size === 1 ? "" : "s"}. `);
    const questions = [...asked.values()].reduce((sum, count) => sum + count, 0);
    if (questions) said.push(`${questions} new question${questions === 1 ? "" : "s"}. `);
    if (decided) said.push(`${decided} on this page just decided. `);
    if (said.length) said.push(reloadLink("Show the queue as it is now"));
    const count = fresh.size + questions;
    document.title = count ? `(${count}) ${title}` : title;
    page.say(...said);
  }

  // All threads: what their agents ask is told to those who follow them.
  page.follow({}, (log, workspace) => {
    log.on("run_paused", ({ run_id: run, requests }) => {
      const unknown = requests.filter((each) => !entryOf(workspace, run, each.tool_call_id));
      asked.set(`${workspace}/${run}`, unknown.length);
      tell();
    });
    log.on("deferred_answered", ({ run_id: run, tool_call_id: id }, { actor }) => {
      if (settle(entryOf(workspace, run, id), `answered just now by ${nameOf(actor)}`)) decided += 1;
      else lower(`${workspace}/${run}`);
      tell();
    });
    log.on("run_ended", ({ run_id: run }) => {
      asked.delete(`${workspace}/${run}`);
      for (const entry of entriesOf(workspace, run)) settle(entry, "the run has ended");
      tell();
    });
    log.on("proposal_created", ({ proposal_id: id }) => {
      if (badgeOf(workspace, id)) return;
      fresh.add(`${workspace}/${id}`);
      tell();
    });
    log.on("proposal_resolved", ({ proposal_id: id, decision }, { actor }) => {
      const badge = badgeOf(workspace, id);
      if (badge?.classList.contains("is-pending")) {
        mark(badge, STATUS[decision], nameOf(actor));
        decided += 1;
        tell();
      } else if (fresh.delete(`${workspace}/${id}`)) {
        tell();
      }
    });
  });

  function lower(key) {
    if (asked.has(key)) asked.set(key, Math.max(0, asked.get(key) - 1));
  }
}

/** What a run asks, as the page shows it. */
function entriesOf(workspace, run) {
  const [place, start] = [workspace, `${run}/`].map((each) => CSS.escape(each));
  return document.querySelectorAll(`[data-workspace="${place}"][data-waiting^="${start}"]`);
}

function entryOf(workspace, run, id) {
  const entries = [...entriesOf(workspace, run)];
  return entries.find((each) => each.dataset.waiting === `${run}/${id}`);
}

/** Mark it as done with; whether it was not yet. */
function settle(entry, text) {
  if (!entry || entry.classList.contains("artifactr-decided")) return false;
  entry.classList.add("artifactr-decided");
  entry.append(element("span", { className: "artifactr-under" }, text));
  return true;
}

function badgeOf(workspace, id) {
  const [place, proposal] = [workspace, id].map((each) => CSS.escape(each));
  return document.querySelector(`[data-workspace="${place}"][data-proposal="${proposal}"]`);
}

function mark(badge, status, name) {
  badge.className = `artifactr-badge is-${status}`;
  badge.textContent = status;
  badge.after(element("span", { className: "artifactr-under" }, `just now by ${name}`));
  badge.closest("tr").classList.add("artifactr-decided");
}
