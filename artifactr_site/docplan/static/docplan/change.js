/** A change as something to read: lines out and in, with the words that differ marked. */

import { compare, folded, pieces } from "./diff.js";
import { element } from "./dom.js";
import { linesOf } from "./kinds.js";

/** The table of what changed between two values of a kind; null stands for no value. */
export function changeView(kind, before, after, label = "What changes") {
  const [old, next] = [before, after].map((data) => (data ? linesOf(kind, data) : []));
  const steps = folded(compare(old, next));
  if (steps.every((step) => step.kind === "same" || step.kind === "skipped")) {
    return element("p", { className: "quiet" }, "No difference to be seen.");
  }
  const box = element("div", { className: "change", tabIndex: 0, ariaLabel: label }, ...rows(steps));
  box.setAttribute("role", "region");
  return box;
}

function* rows(steps) {
  const partners = paired(steps);
  for (const [index, step] of steps.entries()) {
    if (step.kind === "skipped") {
      const text = `${step.count} unchanged line${step.count === 1 ? "" : "s"}`;
      yield element("div", { className: "is-skipped" }, text);
      continue;
    }
    const sign = { added: "+", removed: "−", same: " " }[step.kind];
    const partner = partners.get(index);
    const parts = partner === undefined ? [[step.text, false]] : pieces(step.text, partner);
    const marked = parts.map(([text, isChanged]) => (isChanged ? element("mark", {}, text) : text));
    const word = { added: "added", removed: "removed" }[step.kind];
    const sayable = word ? [element("span", { className: "aside" }, `${word}: `)] : [];
    yield element(
      "div",
      { className: `is-${step.kind}` },
      element("span", { className: "sign", ariaHidden: "true" }, sign),
      element("span", { className: "line" }, ...sayable, ...marked),
    );
  }
}

/** For each line taken out and put in at one place, the text that stands in its stead. */
function paired(steps) {
  const found = new Map();
  let [removed, added] = [[], []];
  const pair = () => {
    if (removed.length === added.length) {
      removed.forEach((index, number) => {
        found.set(index, steps[added[number]].text);
        found.set(added[number], steps[index].text);
      });
    }
    [removed, added] = [[], []];
  };
  steps.forEach((step, index) => {
    if (step.kind === "removed") removed.push(index);
    else if (step.kind === "added") added.push(index);
    else pair();
  });
  pair();
  return found;
}
