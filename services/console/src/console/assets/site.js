"use strict";
// Shows a logo that was chosen or dropped, and sends it when its button is pressed.
(() => {
  const place = document.querySelector("[data-logo]");
  if (!place) return;
  const input = place.querySelector("input[type=file]");
  const canvas = place.querySelector("canvas");
  const told = place.querySelector("[data-told]");
  const button = place.querySelector("button");
  const once = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (each) => each.toString(16).padStart(2, "0")).join("");
  let chosen = null;

  const refuse = (text) => {
    told.textContent = text;
    canvas.hidden = button.hidden = true;
    chosen = null;
  };

  const show = async (file) => {
    if (file.size > Number(place.dataset.most)) return refuse(place.dataset.tooLarge);
    let picture;
    try {
      picture = await createImageBitmap(file);
    } catch {
      return refuse(place.dataset.noPicture);
    }
    const scale = Math.min(1, 240 / picture.width, 120 / picture.height);
    canvas.width = Math.max(1, picture.width * scale);
    canvas.height = Math.max(1, picture.height * scale);
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    picture.close();
    chosen = { file, id: once() };
    told.textContent = file.name;
    canvas.hidden = button.hidden = false;
  };

  const send = async () => {
    if (!chosen) return;
    button.disabled = true;
    try {
      const answer = await fetch(`${place.dataset.logo}?once=${chosen.id}`, {
        method: "POST",
        body: chosen.file,
        headers: { "Content-Type": "application/octet-stream" },
      });
      const isText = (answer.headers.get("content-type") || "").startsWith("text/plain");
      if (answer.ok && isText) location.assign(place.dataset.then);
      else told.textContent = isText ? await answer.text() : place.dataset.failed;
    } catch {
      told.textContent = place.dataset.failed;
    }
    button.disabled = false;
  };

  place.hidden = false;
  button.addEventListener("click", send);
  input.addEventListener("change", () => input.files.length && show(input.files[0]));
  acceptDrops(place, (files) => show(files[0]));
})();
