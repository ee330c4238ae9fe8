"use strict";
// Copies and prints the recovery codes. The clipboard needs https or localhost; elsewhere its button stays away.
(() => {
  const codes = document.querySelector("[data-codes]");
  const copy = document.querySelector("[data-copy]");
  const print = document.querySelector("[data-print]");
  if (navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(codes.textContent);
        copy.textContent = copy.dataset.copied;
      } catch {
        document.getSelection().selectAllChildren(codes);
      }
    });
  }
  print.hidden = false;
  print.addEventListener("click", () => window.print());
})();
