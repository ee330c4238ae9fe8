"use strict";
// Offers the zone of this browser: first in the list and on a button; a new account begins with it.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const field = document.querySelector("input[name=zone]");
  if (!zone || !field) return;
  const offer = document.querySelector("[data-zone-offer]"), list = document.querySelector("#zones");
  if (!offer) return void (field.value = zone);
  const known = [...list.options].find((each) => each.value === zone);
  if (!known) return;
  list.prepend(known);
  if (field.value === zone) return;
  const button = offer.querySelector("[data-zone]");
  button.textContent = zone;
  button.addEventListener("click", () => { field.value = zone; offer.hidden = true; });
  offer.hidden = false;
})();
