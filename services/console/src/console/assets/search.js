"use strict";
// Ctrl-K (Cmd-K) and "/" open the search; "/" stays a character where one types.
document.addEventListener("keydown", (event) => {
  const link = document.querySelector("[data-search]");
  if (!link || event.altKey || event.shiftKey && event.key !== "/") return;
  const held = event.ctrlKey || event.metaKey;
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (held ? event.key.toLowerCase() !== "k" : event.key !== "/" || isTyping) return;
  event.preventDefault();
  // What is typed in a form is not left behind without a word.
  const isTyped = [...document.querySelectorAll("form[method=post] textarea, form[method=post] input:not([type=hidden])")]
    .some((each) => each.type === "checkbox" || each.type === "radio" ? each.checked !== each.defaultChecked : each.value !== each.defaultValue);
  if (isTyped) window.open(link.href, "_blank");
  else location.assign(link.href);
});
