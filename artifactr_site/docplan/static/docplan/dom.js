/** Small pieces that the parts of the page share. What comes from the server is text, never HTML. */

import { element, nameOf } from "../threads/desk_page.js";

export { element };

/** A button that does something when it is pressed. */
export function button(text, onclick, properties = {}) {
  return element("button", { type: "button", onclick, ...properties }, text);
}

/** A labelled control: the label stands before it, or around it. */
export function labelled(text, control) {
  return element("label", {}, element("span", {}, text), control);
}

/** When something was, as people say it; the whole moment is in the title. */
export function time(at) {
  const moment = new Date(at);
  const isToday = moment.toDateString() === new Date().toDateString();
  const options = isToday ? {} : { day: "numeric", month: "short" };
  const text = moment.toLocaleString(undefined, { ...options, hour: "2-digit", minute: "2-digit" });
  return element("time", { dateTime: at, title: moment.toLocaleString() }, text);
}

/** How an actor is called; the reader is "You". */
export function who(actor, me) {
  return isSame(actor, me) ? "You" : nameOf(actor);
}

/** The same within a sentence. */
export const by = (actor, me) => (isSame(actor, me) ? "you" : nameOf(actor));

/** Whether two actors count as the same person. */
export function isSame(one, other) {
  return one.kind === "user" && other.kind === "user" && one.id === other.id;
}

/** A new id, as the server makes them. */
export function newId(prefix) {
  const [number] = crypto.getRandomValues(new BigUint64Array(1));
  return `${prefix}_${number.toString(16).padStart(16, "0")}`;
}

/** What a refusal or a failed request says to a person. */
export function reasonOf(error) {
  if (error.code === "version_conflict") {
    return "Somebody changed this meanwhile: look at it as it is now, then try again";
  }
  const detail = error.rejection?.errors?.[0]?.msg;
  const text = detail ? `${error.message}: ${detail}` : error.message || String(error);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Do something once at a time for a form or a card: its controls wait, and a refusal is said in
 * `place`. Returns whether it was done.
 */
export async function attempt(box, place, work) {
  if (box.dataset.busy) return false;
  box.dataset.busy = "yes";
  place.textContent = "";
  const controls = [...box.querySelectorAll("button, select")].filter((each) => !each.disabled);
  for (const each of controls) each.disabled = true;
  const focused = document.activeElement;
  try {
    await work();
    return true;
  } catch (error) {
    place.textContent = `${reasonOf(error)}.`.replace(/([.!?])\.$/, "$1");
    return false;
  } finally {
    delete box.dataset.busy;
    for (const each of controls) each.disabled = false;
    if (focused?.isConnected && document.activeElement === document.body) focused.focus();
  }
}
