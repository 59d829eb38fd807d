/** What a paused run asks of people: a question to answer, or a tool to approve or refuse. */

import { attempt, button, element, labelled } from "./dom.js";
import { dataView } from "./kinds.js";

/** The card of one request. */
export function requestCard(room, run, request) {
  const card = element("form", { className: "card request" });
  card.dataset.request = request.tool_call_id;
  const said = element("p", { className: "problem", role: "alert" });
  const send = (answer) =>
    attempt(card, said, () =>
      room.command({
        type: "answer_deferred",
        run_id: run.id,
        tool_call_id: request.tool_call_id,
        ...answer,
      }),
    );
  const parts = request.kind === "approval" ? approval : question;
  card.append(...parts(room, request, card, send), said);
  return card;
}

function question(room, { args, tool_name: tool }, card, send) {
  const { question: asked, choices, options, ...rest } = args;
  const text = typeof asked === "string" ? asked : `${tool} needs an answer`;
  const head = element("h3", {}, text);
  const details = Object.keys(rest).length ? [dataView(rest)] : [];
  if (!room.may.answer) return [head, ...details, waits("An editor answers this.")];
  const offered = [choices, options].find(Array.isArray) ?? [];
  const buttons = offered.map((each) => button(nameOf(each), () => send({ answer: valueOf(each) })));
  const answer = element("input", { name: "answer", required: true, autocomplete: "off" });
  card.addEventListener("submit", (event) => {
    event.preventDefault();
    if (answer.value.trim()) send({ answer: answer.value.trim() });
  });
  const label = offered.length ? "Or in your own words" : "Your answer";
  return [
    head,
    ...details,
    ...(offered.length ? [element("div", { className: "buttons choices" }, ...buttons)] : []),
    element("div", { className: "line-form" }, labelled(label, answer), submit("Answer")),
  ];
}

function approval(room, { args, tool_name: tool }, card, send) {
  const head = element("h3", {}, "May the agent use ", element("code", {}, tool), "?");
  const shown = Object.keys(args).length
    ? dataView(args)
    : element("p", { className: "quiet" }, "It is called without arguments.");
  if (!room.may.approve) return [head, shown, waits("A reviewer approves or refuses this.")];
  const reason = element("input", { name: "reason", placeholder: "optional", autocomplete: "off" });
  card.addEventListener("submit", (event) => event.preventDefault());
  const refuse = () => {
    const why = reason.value.trim();
    send({ approved: false, ...(why ? { answer: why } : {}) });
  };
  return [
    head,
    shown,
    labelled("Reason, if you refuse", reason),
    element(
      "div",
      { className: "buttons" },
      button("Approve", () => send({ approved: true }), { className: "accept" }),
      button("Refuse", refuse, { className: "reject" }),
    ),
  ];
}

const waits = (text) => element("p", { className: "quiet" }, text);
const submit = (text) => element("button", { type: "submit", className: "accept" }, text);
const nameOf = (choice) => String(choice?.label ?? choice?.title ?? valueOf(choice));
const valueOf = (choice) => choice?.value ?? choice?.label ?? choice;
