"use strict";
// Ctrl-K (Cmd-K) and "/" show the search in a dialog over the page, so that nothing typed there is lost.
// Arrow keys move through the results, Enter opens one, Escape closes. Without this script the link leads to /search.
(() => {
  const link = document.querySelector("[data-search]");
  if (!link) return;
  let dialog, input, results, asked = 0, waiting;

  const make = () => {
    dialog = document.createElement("dialog");
    dialog.className = "search-dialog";
    dialog.setAttribute("aria-label", link.dataset.title);
    const form = document.createElement("form");
    form.setAttribute("role", "search");
    form.action = link.pathname;
    input = document.createElement("input");
    Object.assign(input, { type: "search", name: "q", maxLength: 200, autocomplete: "off", placeholder: link.dataset.text });
    input.setAttribute("aria-label", link.dataset.text);
    form.append(input);
    const brand = new URLSearchParams(link.search).get("brand");
    if (brand) {
      const field = document.createElement("input");
      Object.assign(field, { type: "hidden", name: "brand", value: brand });
      form.append(field);
    }
    const close = document.createElement("button");
    Object.assign(close, { type: "button", className: "quiet", textContent: link.dataset.close });
    close.addEventListener("click", () => dialog.close());
    form.append(close);
    results = document.createElement("div");
    dialog.append(form, results);
    document.body.append(dialog);
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(find, 150);
    });
    form.addEventListener("submit", (event) => {
      const first = links()[0];
      if (first && results.dataset.of === input.value.trim()) {
        event.preventDefault();
        first.click();
      }
    });
    dialog.addEventListener("keydown", move);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  };

  const links = () => [...results.querySelectorAll("a[data-result]")];

  const find = async () => {
    const text = input.value.trim(), number = ++asked;
    if (!text) return show("", "");
    const query = new URLSearchParams(new FormData(input.form));
    let answer;
    try {
      answer = await fetch(`${link.pathname}?${query}`, { headers: { "HX-Request": "true", "HX-Target": "div#search-results" } });
    } catch { return; }
    if (answer.status === 401) return location.assign(link.href);
    const found = answer.ok && !answer.redirected ? await answer.text() : "";
    if (number === asked) show(found, text);
  };

  const show = (html, text) => {
    const held = results.contains(document.activeElement) ? document.activeElement.href : null;
    results.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    results.dataset.of = text;
    // Whoever is on a result already stays on it, or goes on from the field if it is not found any more.
    if (held !== null) (links().find((each) => each.href === held) ?? input).focus();
  };

  const move = (event) => {
    const all = links(), at = all.indexOf(document.activeElement);
    if (event.key === "ArrowDown") (all[at + 1] ?? all[0] ?? input).focus();
    // In the field, the browser would only empty it at first.
    else if (event.key === "Escape") dialog.close();
    else if (event.key === "ArrowUp") (at > 0 ? all[at - 1] : at === 0 ? input : all.at(-1) ?? input).focus();
    else if (at >= 0 && event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) return input.focus();
    else return;
    event.preventDefault();
  };

  const open = () => {
    if (document.querySelector("dialog[open]")) return;
    if (!dialog) make();
    // Its focus returns by itself to where it was when the dialog closes.
    dialog.showModal();
    input.focus();
    input.select();
  };

  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    open();
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey) return;
    const held = event.ctrlKey || event.metaKey;
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (held ? event.shiftKey || event.key.toLowerCase() !== "k" : event.key !== "/" || isTyping) return;
    event.preventDefault();
    open();
  });
})();
