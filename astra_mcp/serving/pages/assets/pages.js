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
