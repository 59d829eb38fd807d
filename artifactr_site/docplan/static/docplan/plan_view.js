/** A plan: its goal and its tasks, each changed where it stands. */

import { attempt, button, element, labelled, newId } from "./dom.js";
import { STATES } from "./kinds.js";

const pointer = (id) => id.replaceAll("~", "~0").replaceAll("/", "~1");

export class PlanView {
  #room;
  #id;

  constructor(room, id) {
    [this.#room, this.#id] = [room, id];
    this.goal = element("div", { className: "goal" });
    this.tasks = element("ul", { className: "tasks" });
    this.said = element("p", { className: "problem", role: "alert" });
    this.element = element("div", { className: "plan" }, this.goal, this.tasks);
    if (room.may.edit) this.element.append(this.#addForm());
    this.element.append(this.said);
  }

  /** Show it as it is; `before` is the data it was changed from. */
  show({ data }, before) {
    if (!this.goal.querySelector("form")) this.#showGoal(data.goal, before);
    const old = before?.tasks ?? {};
    const rows = Object.entries(data.tasks).map(([id, task]) => {
      const isFresh = before && JSON.stringify(old[id]) !== JSON.stringify(task);
      return this.#row(id, task, isFresh);
    });
    if (!rows.length) rows.push(element("li", { className: "quiet" }, "No task yet."));
    const focused = this.tasks.contains(document.activeElement) && document.activeElement.dataset.name;
    this.tasks.replaceChildren(...rows);
    if (focused) this.tasks.querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  }

  #row(id, task, isFresh) {
    const row = element("li", { className: `task is-${task.status}${isFresh ? " is-fresh" : ""}` });
    row.dataset.task = id;
    if (!this.#room.may.edit) {
      row.append(element("span", { className: "title" }, task.title));
      row.append(element("span", { className: "badge" }, STATES[task.status] ?? task.status));
      return row;
    }
    const options = Object.entries(STATES).map(([value, text]) =>
      element("option", { value, selected: value === task.status }, text),
    );
    const state = element("select", { ariaLabel: `State of ${task.title}` }, ...options);
    state.dataset.name = `state ${id}`;
    const path = `/tasks/${pointer(id)}`;
    state.addEventListener("change", async () => {
      const op = { op: "replace", path: `${path}/status`, value: state.value };
      if (!(await this.#edit(row, [op]))) state.value = task.status;
    });
    const remove = button("×", () => this.#edit(row, [{ op: "remove", path }]), {
      className: "plain",
      ariaLabel: `Remove ${task.title}`,
      title: "Remove",
    });
    remove.dataset.name = `remove ${id}`;
    row.append(element("span", { className: "title" }, task.title), state, remove);
    return row;
  }

  #showGoal(goal, before) {
    const text = element("p", {}, element("strong", {}, "Goal: "), goal || "none yet");
    if (before && before.goal !== goal) text.className = "is-fresh";
    const edit = button("Change", () => this.#editGoal(goal), { className: "plain" });
    edit.setAttribute("aria-label", "Change the goal");
    this.goal.replaceChildren(text, ...(this.#room.may.edit ? [edit] : []));
  }

  #editGoal(goal) {
    const field = element("input", { name: "goal", value: goal });
    const form = element(
      "form",
      { className: "line-form" },
      labelled("Goal", field),
      element("button", { type: "submit", className: "accept" }, "Save"),
      button("Cancel", () => close()),
    );
    const close = () => {
      form.remove();
      this.show(this.#room.artifacts.get(this.#id));
    };
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const op = { op: "replace", path: "/goal", value: field.value };
      if (field.value === goal || (await this.#edit(form, [op]))) close();
    });
    this.goal.replaceChildren(form);
    field.focus();
  }

  #addForm() {
    const title = element("input", { name: "task", required: true, autocomplete: "off" });
    const form = element(
      "form",
      { className: "line-form" },
      labelled("New task", title),
      element("button", { type: "submit" }, "Add"),
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (!title.value.trim()) return;
      const value = { title: title.value.trim(), status: "todo" };
      const op = { op: "add", path: `/tasks/${newId("task")}`, value };
      if (await this.#edit(form, [op])) form.reset();
      title.focus();
    });
    return form;
  }

  #edit(box, ops) {
    return attempt(box, this.said, async () => {
      const { version } = this.#room.artifacts.get(this.#id);
      try {
        await this.#room.command({
          type: "edit_artifact",
          artifact_id: this.#id,
          base_version: version,
          patch: { kind: "json_patch", ops },
        });
      } catch (error) {
        if (error.code === "version_conflict") await this.#room.refresh(this.#id);
        throw error;
      }
    });
  }
}
