"use strict";
// A secret is in the first answer alone, so a second press of the button must not replace that answer.
const sent = new WeakSet();
for (const form of document.querySelectorAll("form[data-sent-once]")) {
  form.addEventListener("submit", (event) => {
    if (sent.has(form)) event.preventDefault();
    sent.add(form);
  });
}
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
