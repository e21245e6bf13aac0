/* A run that goes on: the page is asked for again, and what differs is put in its place. */
(() => {
  "use strict";

  const EVERY_MS = 3000;
  const MOST_MS = 60000;
  const here = document.getElementById("run");
  if (!here?.dataset.again) return;
  const fault = document.getElementById("live-fault");
  let tag = null;
  let pause = EVERY_MS;
  let before = new Map(); // the parts as they came last, before a plot was drawn into them

  const partsOf = (root) => new Map([...root.querySelectorAll("[data-part]")].map((part) => [part.dataset.part, part]));
  const namesOf = (parts) => [...parts].map(([name, part]) => `${name} ${part.querySelector("h3, caption")?.textContent ?? ""}`).join("\n");

  function say(words) {
    if (fault.textContent === words) return;
    fault.textContent = words;
    fault.hidden = words === "";
  }

  /* Plots keep their place, so that a cursor in them and open values stay; other parts are replaced. */
  function renew(old, part) {
    if (!old.matches("[data-plot]")) {
      const open = [...old.querySelectorAll("details")].map((each) => each.open);
      old.replaceWith(part);
      part.querySelectorAll("details").forEach((each, i) => { each.open = open[i] ?? each.open; });
      return;
    }
    old.querySelector("script").textContent = part.querySelector("script").textContent;
    old.querySelector("details table").replaceWith(part.querySelector("details table"));
    const legend = old.querySelector(".legend");
    if (legend) legend.replaceWith(part.querySelector(".legend") ?? "");
  }

  function take(text) {
    const found = new DOMParser().parseFromString(text, "text/html").getElementById("run");
    if (found === null) return false;
    const parts = partsOf(found);
    const texts = new Map([...parts].map(([name, part]) => [name, part.outerHTML]));
    const known = partsOf(here);
    if (namesOf(parts) === namesOf(known)) {
      for (const [name, part] of parts) {
        if (before.get(name) !== texts.get(name)) renew(known.get(name), document.adoptNode(part));
      }
    } else {
      const kept = [...here.children].filter((each) => each === fault);
      here.replaceChildren(...kept, ...[...found.children].filter(({ id }) => id !== fault.id).map((each) => document.adoptNode(each)));
    }
    before = texts;
    dispatchEvent(new Event("plots-changed"));
    return Boolean(found.dataset.again);
  }

  async function look() {
    if (document.visibilityState === "hidden") return true;
    const answer = await fetch(here.dataset.again, {
      headers: { Accept: "text/html", ...(tag ? { "If-None-Match": tag } : {}) },
      credentials: "same-origin",
      cache: "no-store",
    });
    if (answer.status === 401) {
      say("The session is over: load the page again for a new one.");
      return false;
    }
    if (answer.status !== 304) {
      if (!answer.ok) throw new Error(String(answer.status));
      tag = answer.headers.get("ETag");
      if (!take(await answer.text())) return false;
    }
    say("");
    return true;
  }

  async function follow() {
    let goesOn = true;
    try {
      goesOn = await look();
      pause = EVERY_MS;
    } catch {
      pause = Math.min(2 * pause, MOST_MS);
      say("The gateway does not answer: these figures may be old.");
    }
    if (goesOn) setTimeout(follow, pause);
  }

  setTimeout(follow, EVERY_MS);
})();
