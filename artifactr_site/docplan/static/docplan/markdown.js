/**
 * The common part of Markdown as nodes: headings, lists, quotes, code, tables, rules, paragraphs.
 * Nothing in it is ever HTML; what is not understood stays as it was written.
 */

import { element } from "./dom.js";

const FENCE = /^\s{0,3}(```+|~~~+)/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const INLINE =
  /(`+)(.+?)\1|\*\*(?=\S)(.+?)\*\*|__(?=\S)(.+?)__|\*(?=\S)([^*]+?)\*|(?<!\w)_(?=\S)([^_]+?)_(?!\w)|~~(.+?)~~|\[([^\]]+)\]\(([^()\s]+)\)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?'"])/;
/** Deeper or longer than this, text is shown as it stands. */
const DEEPEST = 8;
const LONGEST = 10_000;

/** A box with the text; blocks with a line of `fresh` are marked as just changed. */
export function markdown(text, fresh = new Set()) {
  const lines = text.split("\n").map((line, number) => ({ line: line.trimEnd(), number }));
  const box = element("div", { className: "prose" }, ...blocks(lines, fresh, 0));
  return box;
}

function* blocks(lines, fresh, depth) {
  let at = 0;
  while (at < lines.length) {
    if (!lines[at].line.trim()) {
      at += 1;
      continue;
    }
    const [block, next] = read(lines, at, fresh, depth);
    if (lines.slice(at, next).some(({ number }) => fresh.has(number))) block.classList.add("is-fresh");
    yield block;
    at = next;
  }
}

/** The block that begins here, and where the one after it does. */
function read(lines, at, fresh, depth) {
  const { line } = lines[at];
  const fence = line.match(FENCE);
  if (fence) return code(lines, at, fence[1]);
  const heading = line.match(HEADING);
  if (heading) {
    // The page has a first heading of its own.
    const level = Math.min(heading[1].length + 2, 6);
    return [element(`h${level}`, { className: `h${heading[1].length}` }, ...inline(heading[2])), at + 1];
  }
  if (RULE.test(line)) return [element("hr"), at + 1];
  if (depth < DEEPEST && QUOTE.test(line)) {
    const end = endOf(lines, at, (each) => QUOTE.test(each));
    const inner = lines.slice(at, end).map((each) => ({ ...each, line: each.line.replace(QUOTE, "") }));
    return [element("blockquote", {}, ...blocks(inner, fresh, depth + 1)), end];
  }
  if (depth < DEEPEST && ITEM.test(line)) return list(lines, at, fresh, depth);
  if (isTable(lines, at)) return table(lines, at);
  const end = endOf(lines, at, (each) => each.trim() && !startsBlock(each));
  return [element("p", {}, ...joined(lines.slice(at, end))), end];
}

const startsBlock = (line) =>
  [FENCE, HEADING, RULE, QUOTE, ITEM].some((pattern) => pattern.test(line));

/** After the first line, as long as the lines are such. */
function endOf(lines, at, isSuch) {
  let end = at + 1;
  while (end < lines.length && isSuch(lines[end].line)) end += 1;
  return end;
}

function code(lines, at, mark) {
  const end = endOf(lines, at, (each) => !each.trim().startsWith(mark));
  const text = lines.slice(at + 1, end).map(({ line }) => line).join("\n");
  return [element("pre", { tabIndex: 0 }, element("code", {}, text)), Math.min(end + 1, lines.length)];
}

function list(lines, at, fresh, depth) {
  const [, indent, mark] = lines[at].line.match(ITEM);
  const isOrdered = /\d/.test(mark);
  const made = element(isOrdered ? "ol" : "ul");
  if (isOrdered && parseInt(mark, 10) !== 1) made.start = parseInt(mark, 10);
  let next = at;
  while (next < lines.length) {
    const found = lines[next].line.match(ITEM);
    if (!found || found[1].length !== indent.length || /\d/.test(found[2]) !== isOrdered) break;
    const end = endOf(lines, next, (each) => belongs(each, indent.length));
    const body = lines.slice(next + 1, end).map((each) => ({
      ...each,
      line: each.line.slice(Math.min(each.line.length - each.line.trimStart().length, indent.length + 2)),
    }));
    made.append(item(found[3], lines[next].number, body, fresh, depth));
    next = end;
    while (next < lines.length && !lines[next].line.trim() && follows(lines, next, indent)) next += 1;
  }
  return [made, next];
}

const belongs = (line, indent) => line.trim() && line.search(/\S/) > indent;

/** Whether the list goes on after an empty line. */
function follows(lines, at, indent) {
  const next = lines.slice(at).find(({ line }) => line.trim());
  return next?.line.match(ITEM)?.[1].length === indent.length;
}

function item(text, number, body, fresh, depth) {
  const made = element("li");
  const box = text.match(/^\[([ xX])\]\s+(.*)$/);
  if (box) {
    const isDone = box[1] !== " ";
    made.className = "check";
    made.append(element("input", { type: "checkbox", disabled: true, checked: isDone }));
    made.firstChild.setAttribute("aria-label", isDone ? "done" : "not done");
  }
  const end = body.findIndex(({ line }) => startsBlock(line));
  const own = end < 0 ? body : body.slice(0, end);
  made.append(...joined([{ line: box ? box[2] : text }, ...own]));
  if (end >= 0) made.append(...blocks(body.slice(end), fresh, depth + 1));
  if ([number, ...own.map((each) => each.number)].some((each) => fresh.has(each))) {
    made.classList.add("is-fresh");
  }
  return made;
}

function isTable(lines, at) {
  const [head, below] = [lines[at].line, lines[at + 1]?.line ?? ""];
  return head.includes("|") && below.includes("|") && DIVIDER.test(below);
}

function table(lines, at) {
  const end = endOf(lines, at, (each) => each.includes("|"));
  const cells = ({ line }) =>
    line.trim().replace(/^\||\|$/g, "").split("|").map((each) => each.trim());
  const row = (tag, each) =>
    element("tr", {}, ...cells(each).map((text) => element(tag, {}, ...inline(text))));
  const made = element("table", {}, element("thead", {}, row("th", lines[at])));
  made.append(element("tbody", {}, ...lines.slice(at + 2, end).map((each) => row("td", each))));
  return [element("div", { className: "table", tabIndex: 0 }, made), end];
}

function joined(lines) {
  return lines.flatMap(({ line }, index) =>
    index ? [element("br"), ...inline(line.trim())] : inline(line.trim()),
  );
}

function inline(text, depth = 0) {
  const made = [];
  let rest = text.length > LONGEST || depth >= DEEPEST ? "" : text;
  if (!rest && text) return [text];
  for (let found; (found = rest.match(INLINE)); ) {
    if (found.index) made.push(rest.slice(0, found.index));
    made.push(piece(found, depth));
    rest = rest.slice(found.index + found[0].length);
  }
  return rest ? [...made, rest] : made;
}

function piece([whole, , code, bold, bold2, slanted, slanted2, struck, name, target, address], depth) {
  const inside = (part) => inline(part, depth + 1);
  if (code !== undefined) return element("code", {}, code);
  if (bold ?? bold2) return element("strong", {}, ...inside(bold ?? bold2));
  if (slanted ?? slanted2) return element("em", {}, ...inside(slanted ?? slanted2));
  if (struck) return element("del", {}, ...inside(struck));
  return link(target ?? address, name ? inside(name) : [address]) ?? whole;
}

/** Only what a person can follow without harm is a link. */
function link(target, content) {
  if (!/^(https?:\/\/|mailto:)/i.test(target)) return null;
  return element("a", { href: target, rel: "noreferrer noopener nofollow", target: "_blank" }, ...content);
}
