/** What each kind of artifact is called, how it reads as lines, and how it is shown. */

import { element } from "./dom.js";
import { markdown } from "./markdown.js";

const TITLE_CHARS = 60;
export const STATES = { todo: "to do", doing: "doing", done: "done" };

export const isText = (data) => typeof data?.text === "string";
export const isPlan = (kind, data) => kind === "plan" && typeof data?.tasks === "object";

/** A name for people. */
export function titleOf({ kind, id, data }) {
  if (isText(data)) {
    const line = data.text.split("\n").find((each) => each.trim()) ?? "";
    return cut(line.replace(/^[#>\-*\s]+/, "")) || `Empty ${kind}`;
  }
  const named = data?.title ?? data?.name ?? data?.goal;
  return typeof named === "string" && named.trim() ? cut(named) : `${kind} ${id}`;
}

const cut = (text) => (text.length > TITLE_CHARS ? `${text.slice(0, TITLE_CHARS - 1)}…` : text);

/** The value as lines, so that one comparison serves every kind. */
export function linesOf(kind, data) {
  if (isText(data) && Object.keys(data).length === 1) return data.text.split("\n");
  if (isPlan(kind, data)) {
    const tasks = Object.values(data.tasks).map((task) => `${task.title} (${STATES[task.status]})`);
    return [`Goal: ${data.goal}`, ...tasks];
  }
  return JSON.stringify(data, null, 2).split("\n");
}

/** Any other value: its members as a list of terms. */
export function dataView(value) {
  if (isText(value) && Object.keys(value).length === 1) return markdown(value.text);
  if (value === null || typeof value !== "object") {
    return element("span", { className: "value" }, value === null ? "—" : String(value));
  }
  const entries = Object.entries(value);
  if (!entries.length) return element("span", { className: "quiet" }, "nothing");
  if (Array.isArray(value)) {
    return element("ol", {}, ...value.map((each) => element("li", {}, dataView(each))));
  }
  const rows = entries.flatMap(([name, each]) => [
    element("dt", {}, name),
    element("dd", {}, dataView(each)),
  ]);
  return element("dl", { className: "data" }, ...rows);
}
