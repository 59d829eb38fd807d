/**
 * Keeps pages of the admin up to date. A page says in `#artifactr-live` what it is, which logs it
 * was made from and how far they were then; its own script says what has happened since.
 */

import { followDecision } from "./desk_decision.js";
import { followLog } from "./desk_log.js";
import { Page } from "./desk_page.js";
import { followQueue } from "./desk_queue.js";

const PAGES = { decision: followDecision, log: followLog, queue: followQueue };

const place = document.querySelector("#artifactr-live");
if (place) {
  const page = new Page(place);
  PAGES[page.shown.page](page);
}
