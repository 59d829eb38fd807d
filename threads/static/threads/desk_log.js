/** The log: says that it has gone on or, when asked to follow, shows the same list again. */

import { element, reloadLink } from "./desk_page.js";

const SOON = 200;
const AT_MOST_EVERY = 1_000;

export function followLog(page) {
  const button = element("button", { type: "button", className: "artifactr-follow" }, "Follow");
  let [fresh, isFollowing, timer] = [0, false, 0];
  page.state.before(button);
  button.addEventListener("click", () => follow(!isFollowing));
  follow(false);

  function follow(wanted) {
    isFollowing = wanted;
    button.setAttribute("aria-pressed", String(wanted));
    if (fresh) come();
  }

  function come() {
    if (isFollowing) timer ||= setTimeout(renew, SOON);
    else page.say(`${fresh} new event${fresh === 1 ? "" : "s"}. `, reloadLink("Show the newest"));
  }

  async function renew() {
    fresh = 0;
    page.say();
    const isShown = await showAgain().catch(() => false);
    timer = setTimeout(() => {
      timer = 0;
      if (fresh) come();
    }, AT_MOST_EVERY);
    if (isShown) return;
    fresh = 1;
    follow(false);
  }

  page.follow({ whileVisible: true }, (log) => {
    log.on("*", () => {
      fresh += 1;
      come();
    });
  });
}

/** Put the list as the server makes it now, filters and all, in the place of this one. */
async function showAgain() {
  const response = await fetch(location.href);
  if (!response.ok || response.redirected) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const list = document.querySelector("#changelist-form");
  const next = page.querySelector("#changelist-form");
  if (!next) return false;
  const known = new Set(rowsOf(list).keys());
  for (const [key, row] of rowsOf(next)) if (!known.has(key)) row.classList.add("artifactr-new");
  list.replaceWith(document.adoptNode(next));
  const [count, counted] = [document, page].map((each) => each.querySelector("#toolbar .quiet"));
  if (counted) count?.replaceWith(document.adoptNode(counted));
  return true;
}

function rowsOf(list) {
  const rows = [...list.querySelectorAll("#result_list tbody tr")];
  return new Map(rows.map((row) => [row.querySelector("th a")?.getAttribute("href"), row]));
}
