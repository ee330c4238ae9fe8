"use strict";
// A form is sent once: its buttons rest while the answer is under way.
document.addEventListener("submit", (event) => {
  for (const button of event.target.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
});
