"use strict";
const list = document.querySelector("#notes");
const form = document.querySelector("#draft");
const more = document.querySelector("#more");
const problem = document.querySelector("#problem");
const person = document.querySelector("#person").textContent;

// Sends a request, and returns its answer, or throws an Error for the reader.
async function ask(method, path, body) {
  const headers = typeof body === "string" ? { "Content-Type": "application/json" } : {};
  const response = await fetch(path, { method, headers, body });
  if (response.status === 401) location.reload();
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("Content-Type"));
  const answer = isJson ? JSON.parse(text) : text;
  if (response.ok) return answer;
  const errors = (answer.errors || []).map((e) => `${e.pointer.slice(1)} ${e.detail}`);
  throw new Error(errors.join(", ") || answer.detail || `the answer was ${response.status}`);
}

// Shows a note at its place: the latest is the first.
function show(note) {
  const item = document.querySelector("#note").content.cloneNode(true).firstElementChild;
  item.id = `note-${note.id}`;
  item.querySelector("h3").textContent = note.place;
  item.querySelector(".by").textContent =
    `${note.author}, ${new Date(note.written_at).toLocaleString()}`;
  item.querySelector(".text").textContent = note.text;
  const image = item.querySelector("img");
  image.hidden = !note.picture;
  if (note.picture) {
    image.src = `/pictures/${note.picture}`;
    image.alt = `Picture of ${note.place}`;
  }
  const remove = item.querySelector(".delete");
  remove.hidden = note.author !== person;
  remove.setAttribute("aria-label", `Delete the note on ${note.place}`);
  remove.onclick = () => attempt(() => ask("DELETE", `/api/notes/${note.id}`));
  const old = document.getElementById(item.id);
  if (old) return old.replaceWith(item);
  const number = (x) => Number(x.id.slice(5));
  const next = [...list.children].find((x) => number(x) < note.id);
  list.insertBefore(item, next || null);
}

async function load(before) {
  const page = await ask("GET", `/api/notes${before ? `?before=${before}` : ""}`);
  page.notes.forEach(show);
  more.hidden = !page.next;
  more.onclick = () => attempt(() => load(page.next));
}

async function attempt(action) {
  problem.textContent = "";
  try {
    await action();
  } catch (error) {
    problem.textContent = error.message;
  }
}

form.onsubmit = (event) => {
  event.preventDefault();
  attempt(async () => {
    const draft = { place: form.place.value, text: form.text.value };
    const note = await ask("POST", "/api/notes", JSON.stringify(draft));
    const picture = form.picture.files[0];
    form.place.value = form.text.value = "";
    if (picture) {
      const parts = new FormData();
      parts.append("picture", picture);
      form.picture.value = "";
      await ask("PUT", `/api/notes/${note.id}/picture`, parts);
    }
    form.place.focus();
  });
};

const changes = new EventSource("/api/changes");
const link = document.querySelector("#link");
changes.addEventListener("ready", () => {
  link.textContent = "live";
  list.replaceChildren();
  attempt(() => load());
});
for (const kind of ["written", "changed"])
  changes.addEventListener(kind, (event) => show(JSON.parse(event.data)));
changes.addEventListener("deleted", (event) =>
  document.getElementById(`note-${event.data}`)?.remove());
changes.onerror = () => {
  link.textContent = "connecting …";
  // The session is over, or the server is full: it does not try again itself.
  if (changes.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 5000);
};
