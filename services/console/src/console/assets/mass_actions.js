"use strict";
// The buttons of a list say how many things they act on: the checked ones, or all that match.
(() => {
  const count = (form) => {
    const all = form.querySelector("input[name=which][value=all]");
    const n = all?.checked ? Number(all.dataset.count) : form.querySelectorAll("input[name=chosen]:checked").length;
    const written = new Intl.NumberFormat(document.documentElement.lang).format(n);
    for (const button of form.querySelectorAll("button[data-other]")) {
      button.dataset.some ??= button.textContent;
      button.textContent = n === 0 ? button.dataset.some : n === 1 ? button.dataset.one : button.dataset.other.replace("{n}", written);
    }
  };
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("form[data-many]");
    if (!form) return;
    // Who checks something means the checked ones, until they say otherwise.
    if (event.target.name === "chosen") {
      const chosen = form.querySelector("input[name=which][value=chosen]");
      if (chosen) chosen.checked = true;
    }
    count(form);
  });
  for (const form of document.querySelectorAll("form[data-many]")) count(form);
})();
