/* What is nicer with a script; every page works without. */
"use strict";

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      // Browsers give the clipboard to secure origins alone: mark the text, so that the keyboard copies it.
      getSelection().selectAllChildren(source);
      button.textContent = "Marked: copy it with the keyboard";
    }
    setTimeout(() => { button.textContent = label; }, 3000);
  });
}

/* A call may take long: it is sent once, and says so. */
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    for (const button of form.querySelectorAll("button")) button.setAttribute("aria-busy", "true");
  });
}
/* A page that the browser keeps for "back" can be used again. */
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button")) button.removeAttribute("aria-busy");
  }
});

/* A part of a page that follows what happens, while somebody can see it and does not use it. */
for (const part of document.querySelectorAll("[data-live]")) {
  const line = part.previousElementSibling;
  const words = line.querySelector("span");
  const button = line.querySelector("button");
  let source = null;
  let waiting = null;
  let isPaused = false;

  const isUsed = () => part.contains(document.activeElement) ||
    (!getSelection().isCollapsed && getSelection().containsNode(part, true));
  const show = () => {
    if (waiting === null || isPaused || isUsed()) return;
    // Rendered by the gateway, where every text is escaped as on the page itself.
    const scrolled = part.querySelector(".scroll")?.scrollLeft ?? 0;
    part.innerHTML = waiting;
    if (scrolled) part.querySelector(".scroll")?.scrollTo(scrolled, 0);
    waiting = null;
    words.textContent = `As of ${new Date().toISOString().slice(11, 19)}Z.`;
  };
  const stop = () => { source?.close(); source = null; };
  const follow = () => {
    if (source !== null || isPaused || document.hidden) return;
    source = new EventSource(part.dataset.live);
    source.addEventListener("message", (event) => { waiting = JSON.parse(event.data); show(); });
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      stop();
      words.textContent = "Does not follow any more: load the page again.";
      button.hidden = true;
    });
  };
  line.hidden = false;
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    button.textContent = isPaused ? "Go on" : "Pause";
    if (isPaused) { stop(); words.textContent = "Paused."; } else { follow(); show(); }
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) stop(); else follow(); });
  part.addEventListener("focusout", () => setTimeout(show));
  document.addEventListener("selectionchange", show);
  follow();
}

/* From turn to turn by j and k, as far as the page has turns. */
const turns = [...document.querySelectorAll("[data-turn]")];
if (turns.length) {
  for (const line of document.querySelectorAll(".only-with-keys")) line.hidden = false;
  document.addEventListener("keydown", (event) => {
    if (!"jk".includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const held = turns.indexOf(document.activeElement?.closest("[data-turn]"));
    const first = turns.findIndex((turn) => turn.getBoundingClientRect().bottom > 24);
    const at = held >= 0 ? held : first - (event.key === "j" ? 1 : 0);
    const next = turns[at + (event.key === "j" ? 1 : -1)];
    if (!next) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView();
  });
}
