"use strict";
// The button beside a text that is shown once. Without a clipboard it stays hidden; the text can be selected.
document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("[data-agentweb-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.agentwebCopy).value);
      button.textContent = button.dataset.done;
    });
  }
});
