"use strict";
// Drags an entry of the calendar to another day: its own form is sent with that day, and its clock time stays.
(() => {
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
    const form = document.getElementById(dragged.dataset.move).querySelector("form");
    form.elements.date.value = day.dataset.day;
    form.requestSubmit();
  });
})();
