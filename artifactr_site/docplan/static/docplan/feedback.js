/**
 * What people think of an answer: good, bad, or what should have been there instead. The last
 * verdict of the reader is the one that is pressed; the log keeps all of them.
 */

import { attempt, button, element, isSame } from "./dom.js";

const MARKS = { up: ["👍", "Good answer"], down: ["👎", "Bad answer"] };

export class Verdicts {
  #room;
  #mine = new Map();
  #shown = new Map();

  constructor(room) {
    this.#room = room;
  }

  /** The buttons below a message of the agent; nothing for those who may not judge it. */
  below({ message_id: id, thread_id: thread, run_id: run }) {
    if (!run || !this.#room.may.judge) return "";
    const target = { kind: "message", message_id: id, thread_id: thread, run_id: run };
    const said = element("span", { className: "quiet" });
    said.setAttribute("role", "status");
    const box = element("div", { className: "verdict" });
    const give = (type, value, thanks) =>
      attempt(box, said, async () => {
        await this.#room.command({ type: "give_feedback", feedback_type: type, target, value });
        said.textContent = thanks;
      });
    const thumbs = Object.entries(MARKS).map(([name, [mark, label]]) => {
      const press = () => give("thumbs", { up: name === "up" }, "");
      return button(mark, press, { className: "plain thumb", title: label, ariaLabel: label });
    });
    box.append(...thumbs, this.#correction(give), said);
    this.#shown.set(id, thumbs);
    this.#press(id);
    return box;
  }

  /** Take an event of feedback: the reader's own verdict shows, wherever it was given. */
  hear({ feedback_type: type, target, value }, { seq, actor }) {
    const isMine = type === "thumbs" && target.kind === "message" && isSame(actor, this.#room.actor);
    const known = this.#mine.get(target.message_id);
    if (!isMine || known?.seq > seq) return;
    this.#mine.set(target.message_id, { seq, up: value.up });
    this.#press(target.message_id);
  }

  #press(id) {
    const mine = this.#mine.get(id);
    const [up, down] = this.#shown.get(id) ?? [];
    up?.setAttribute("aria-pressed", String(mine?.up === true));
    down?.setAttribute("aria-pressed", String(mine?.up === false));
  }

  #correction(give) {
    const text = element("textarea", { name: "expected", rows: 2, required: true });
    text.setAttribute("aria-label", "What should it have said?");
    text.placeholder = "What should it have said?";
    const form = element("form", {}, text, element("button", { type: "submit" }, "Send"));
    const details = element("details", {}, element("summary", {}, "Correct it"), form);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!(await give("correction", { expected: text.value }, "Sent, thank you."))) return;
      text.value = "";
      details.open = false;
    });
    return details;
  }
}
