"use strict";
// The calendar's form for moves, filled for the entry whose button is pressed, or which is dragged to another day: then it is sent with
// that day, and the clock time stays.
(() => {
  const fill = (mover, entry) => {
    const form = mover.querySelector("form"), { move, verbs, once, version, from, clock } = entry.dataset;
    mover.dataset.entry = entry.id;
    mover.querySelector("h4").textContent = entry.querySelector(".what")?.textContent ?? "";
    for (const [name, value] of Object.entries({ once, version: version ?? "", date: from, time: clock })) {
      // As if it came so: only what is typed keeps live updates back.
      form.elements[name].defaultValue = form.elements[name].value = value;
    }
    form.action = `${form.dataset.paths}${move}/move`;
    for (const button of form.querySelectorAll("[data-verb]")) {
      button.hidden = !verbs.split(" ").includes(button.dataset.verb);
      button.formAction = `${form.dataset.paths}${move}/${button.dataset.verb}`;
    }
    form.hidden = false;
    return form;
  };
  document.addEventListener("click", (event) => {
    const entry = event.target instanceof Element ? event.target.closest("[data-move] > [popovertarget]")?.parentElement : null;
    const mover = entry ? document.getElementById("mover") : null;
    // Opened again for the same entry, it keeps what was typed.
    if (!mover || mover.dataset.entry === entry.id) return;
    const form = fill(mover, entry);
    if (mover.matches(":popover-open")) {
      // Else the button of another entry would close what is open.
      event.preventDefault();
      form.elements.date.focus();
    }
  });

  let dragged = null;
  const dayOf = (event) => {
    const day = event.target instanceof Element ? event.target.closest("[data-day]") : null;
    return dragged && day && day.dataset.day !== dragged.dataset.from ? day : null;
  };
  const mark = (day) => {
    for (const each of document.querySelectorAll(".is-target")) if (each !== day) each.classList.remove("is-target");
    if (day) day.classList.add("is-target");
  };
  document.addEventListener("dragstart", (event) => {
    dragged = event.target instanceof Element ? event.target.closest("[data-move]") : null;
    if (!dragged) return;
    // Live updates leave alone what is being dragged, until the drop's own page comes. Not at once: a change of the page
    // within this event ends the drag in some browsers.
    const started = dragged;
    setTimeout(() => { if (dragged === started) started.dataset.dragged = ""; });
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.id);
  });
  document.addEventListener("dragover", (event) => {
    const day = dayOf(event);
    mark(day);
    if (day) event.preventDefault();
  });
  document.addEventListener("dragend", () => {
    delete dragged?.dataset.dragged;
    dragged = null;
    mark(null);
  });
  document.addEventListener("drop", (event) => {
    const day = dayOf(event);
    if (!day) return;
    event.preventDefault();
    const form = fill(document.getElementById("mover"), dragged);
    form.elements.date.value = day.dataset.day;
    form.requestSubmit();
  });
})();
