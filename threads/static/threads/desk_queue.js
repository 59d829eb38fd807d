/** The review queue: says what is new, and marks the rows that somebody has decided meanwhile. */

import { element, nameOf, reloadLink } from "./desk_page.js";

const STATUS = { accept: "accepted", reject: "rejected" };

export function followQueue(page) {
  const title = document.title;
  const fresh = new Set();
  let decided = 0;

  function tell() {
    const said = [];
    if (fresh.size) said.push(`${fresh.size} new proposal${fresh.size === 1 ? "" : "s"}. `);
    if (decided) said.push(`${decided} on this page just decided. `);
    if (said.length) said.push(reloadLink("Show the queue as it is now"));
    document.title = fresh.size ? `(${fresh.size}) ${title}` : title;
    page.say(...said);
  }

  // No thread: artifacts and proposals are everybody's.
  page.follow({ threads: [] }, (log, workspace) => {
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
