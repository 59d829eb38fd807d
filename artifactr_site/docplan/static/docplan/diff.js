/** What differs between two lists of lines, for people to read; and edits that say the same. */

/** Lines around a change that are shown with it. */
const CONTEXT = 2;
/** Larger comparisons are shown as one block taken out and one put in. */
const MOST_PAIRS = 4_000_000;
/** Lines of one side in one hunk that are still paired word by word. */
const MOST_WORDS = 400;

/**
 * The steps from one list to the other: `{kind: "same" | "removed" | "added", text, old, new}`,
 * where `old` and `new` are the indexes of a line, if it has one.
 */
export function compare(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [oldEnd, newEnd] = [before.length, after.length];
  while (oldEnd > start && newEnd > start && before[oldEnd - 1] === after[newEnd - 1]) {
    oldEnd -= 1;
    newEnd -= 1;
  }
  const same = (old, next) => ({ kind: "same", text: before[old], old, new: next });
  const steps = [];
  for (let index = 0; index < start; index += 1) steps.push(same(index, index));
  steps.push(...middle(before, after, start, oldEnd, newEnd));
  for (let rest = 0; oldEnd + rest < before.length; rest += 1) {
    steps.push(same(oldEnd + rest, newEnd + rest));
  }
  return steps;
}

/** The part that differs, by the longest common subsequence. */
function middle(before, after, start, oldEnd, newEnd) {
  const [rows, columns] = [oldEnd - start, newEnd - start];
  const removed = (old) => ({ kind: "removed", text: before[old], old });
  const added = (next) => ({ kind: "added", text: after[next], new: next });
  const steps = [];
  let [old, next] = [start, start];
  if (rows * columns <= MOST_PAIRS) {
    const width = columns + 1;
    const lengths = new Uint32Array((rows + 1) * width);
    for (let row = rows - 1; row >= 0; row -= 1) {
      for (let column = columns - 1; column >= 0; column -= 1) {
        const at = row * width + column;
        lengths[at] =
          before[start + row] === after[start + column]
            ? lengths[at + width + 1] + 1
            : Math.max(lengths[at + width], lengths[at + 1]);
      }
    }
    while (old < oldEnd && next < newEnd) {
      const at = (old - start) * width + (next - start);
      if (before[old] === after[next]) {
        steps.push({ kind: "same", text: before[old], old, new: next });
        old += 1;
        next += 1;
      } else if (lengths[at + width] >= lengths[at + 1]) {
        steps.push(removed(old));
        old += 1;
      } else {
        steps.push(added(next));
        next += 1;
      }
    }
  }
  for (; old < oldEnd; old += 1) steps.push(removed(old));
  for (; next < newEnd; next += 1) steps.push(added(next));
  return steps;
}

/** The indexes of the lines that are new in `after`. */
export function addedLines(before, after) {
  const added = compare(before, after).filter((step) => step.kind === "added");
  return new Set(added.map((step) => step.new));
}

/** The steps as they are shown: changes with some lines around, `{kind: "skipped", count}` between. */
export function folded(steps) {
  const isNear = steps.map(() => false);
  steps.forEach((step, index) => {
    if (step.kind === "same") return;
    const last = Math.min(steps.length - 1, index + CONTEXT);
    for (let near = Math.max(0, index - CONTEXT); near <= last; near += 1) isNear[near] = true;
  });
  const shown = [];
  steps.forEach((step, index) => {
    if (isNear[index]) return void shown.push(step);
    const last = shown.at(-1);
    if (last?.kind === "skipped") last.count += 1;
    else shown.push({ kind: "skipped", count: 1 });
  });
  return shown;
}

/** The pieces of one line beside another: `[[text, isChanged], …]`, by words. */
export function pieces(text, other) {
  const [mine, theirs] = [text, other].map((each) => each.match(/\s+|\w+|[^\s\w]/gu) ?? []);
  if (mine.length > MOST_WORDS || theirs.length > MOST_WORDS) return [[text, true]];
  const found = [];
  for (const step of compare(theirs, mine)) {
    if (step.kind === "removed") continue;
    const isChanged = step.kind === "added";
    if (found.at(-1)?.[1] === isChanged) found.at(-1)[0] += step.text;
    else found.push([step.text, isChanged]);
  }
  return found;
}

/**
 * Anchored edits that turn one text into the other, one for each place that changed; null if that
 * cannot be said so. Each `old` occurs exactly once at the moment it is applied.
 */
export function editsBetween(before, after) {
  if (before === "") return after === "" ? [] : [{ old: "", new: after }];
  const [lines, wanted] = [before, after].map((each) => each.split("\n"));
  const edits = [];
  for (const hunk of hunks(compare(lines, wanted), lines, wanted).reverse()) {
    const edit = anchored(hunk, lines, wanted);
    if (!edit) return null;
    edits.push(edit);
  }
  return applied(before, edits) === after ? edits : null;
}

/** What the edits make of a text, or null where one does not apply. */
export function applied(text, edits) {
  for (const { old, new: put } of edits) {
    const at = text.indexOf(old);
    if (old === "" ? text !== "" : at < 0 || text.indexOf(old, at + 1) >= 0) return null;
    text = text.slice(0, at) + put + text.slice(at + old.length);
  }
  return text;
}

/** Neighbouring changes as `{old: [from, to], new: [from, to]}`, in order. */
function hunks(steps, lines, wanted) {
  const found = [];
  let [old, next] = [0, 0];
  let open = null;
  for (const step of [...steps, { kind: "same" }]) {
    if (step.kind === "same") {
      if (open) found.push({ old: [open[0], old], new: [open[1], next] });
      open = null;
    } else open ??= [old, next];
    if (step.kind !== "added") old += 1;
    if (step.kind !== "removed") next += 1;
  }
  return found;
}

/** One hunk as an edit, with as many lines around as make its place the only one. */
function anchored({ old, new: put }, lines, wanted) {
  // Applied from the end on: what stands before a hunk is still as it was, behind it as it will be.
  const text = [...lines.slice(0, old[1]), ...wanted.slice(put[1])].join("\n");
  const after = wanted.length - put[1];
  for (let around = old[0] === old[1] ? 1 : 0; ; around += 1) {
    const [before, behind] = [Math.min(around, old[0]), Math.min(around, after)];
    const tail = wanted.slice(put[1], put[1] + behind);
    const from = [...lines.slice(old[0] - before, old[1]), ...tail].join("\n");
    const to = [...lines.slice(old[0] - before, old[0]), ...wanted.slice(...put), ...tail].join("\n");
    const at = text.indexOf(from);
    if (from && at >= 0 && text.indexOf(from, at + 1) < 0) return { old: from, new: to };
    if (before === old[0] && behind === after) return null;
  }
}
