/** The page of a workspace: its parts, and what they tell each other. */

import { Chats } from "./chats.js";
import { Composer } from "./composer.js";
import { element, reasonOf } from "./dom.js";
import { Room } from "./room.js";
import { Talk } from "./talk.js";
import { Work } from "./work.js";

const main = document.querySelector("#room");
const views = document.querySelectorAll("[data-shows]");

/** Where the page is narrow, one of its parts is to be seen. */
function show(view) {
  main.dataset.view = view;
  for (const each of views) each.setAttribute("aria-pressed", String(each.dataset.shows === view));
}

function showConnection(state, reason) {
  const place = document.querySelector("#connection");
  const texts = { connecting: "Connecting…", live: "Live", offline: "Reconnecting…" };
  place.textContent = texts[state] ?? `Not connected: ${reason}. `;
  place.className = `connection is-${state}`;
  if (state !== "closed") return;
  place.append(element("a", { href: location.href }, "Load the page again"));
}

function begin(room) {
  const chat = document.querySelector("#chat");
  const talk = new Talk(room);
  const composer = new Composer(room);
  const work = new Work(room, document.querySelector("#work"), talk, () => show("chat"));
  const title = element("p", { className: "chat-title" });
  chat.append(title, talk.element, composer.element);
  const showTitle = (id) => (title.textContent = room.threads.get(id)?.title ?? "");
  composer.element.hidden = !room.threads.size;
  new Chats(room, document.querySelector("#threads"), async (id) => {
    showTitle(id);
    show("chat");
    composer.element.hidden = false;
    composer.open(id);
    await talk.open(id).catch((error) => (composer.said.textContent = reasonOf(error)));
    work.open(id);
  });
  if (!room.threads.size) {
    title.textContent = "Open a chat to ask the agent for something.";
    show(room.may.chat ? "threads" : "work");
  }
  room.log.onState(showConnection);
}

for (const each of views) each.addEventListener("click", () => show(each.dataset.shows));
show("chat");
const room = new Room(JSON.parse(main.dataset.room));
try {
  await room.start();
  begin(room);
} catch (error) {
  const said = element("p", { className: "notice is-error" }, `${reasonOf(error)}. `);
  said.append(element("a", { href: location.href }, "Load the page again"));
  main.before(said);
}
