"use strict";
// Sends files that were chosen or dropped, one after another, and shows how far each is.
(() => {
  const place = document.querySelector("[data-upload]");
  if (!place) return;
  const input = place.querySelector("input[type=file]");
  const list = place.querySelector("[data-progress]");
  const id = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (each) => each.toString(16).padStart(2, "0")).join("");
  let before = Promise.resolve();

  const address = (file) => {
    const about = new URLSearchParams({ name: file.name, once: id() });
    for (const each of place.querySelectorAll("[data-about]")) {
      if (each.value.trim() && (each.type !== "radio" || each.checked)) about.set(each.name, each.value.trim());
    }
    return `${place.dataset.upload}?${about}`;
  };

  const send = (file, line, where) =>
    new Promise((resolve) => {
      const bar = document.createElement("progress");
      bar.max = file.size;
      bar.value = 0;
      bar.setAttribute("aria-label", file.name);
      line.append(bar);
      const end = (text, failed) => {
        bar.remove();
        line.textContent = text;
        line.classList.toggle("failed", failed);
        resolve();
      };
      const request = new XMLHttpRequest();
      request.upload.addEventListener("progress", (event) => {
        bar.value = event.loaded;
      });
      request.addEventListener("load", () => {
        const isText = (request.getResponseHeader("content-type") || "").startsWith("text/plain");
        const failed = request.status >= 400;
        end(`${failed ? `${file.name}: ` : ""}${isText ? request.responseText : place.dataset.failed}`, failed);
      });
      request.addEventListener("error", () => end(`${file.name}: ${place.dataset.failed}`, true));
      request.open("POST", where);
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    });

  const take = (files) => {
    for (const file of files) {
      const line = document.createElement("li");
      list.append(line);
      line.textContent = file.name;
      if (file.size > Number(place.dataset.most)) {
        line.textContent = `${file.name}: ${place.dataset.tooLarge}`;
        line.classList.add("failed");
        continue;
      }
      const where = address(file);
      before = before.then(() => send(file, line, where));
    }
  };

  place.hidden = false;
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = "";
  });
  acceptDrops(place, take);
})();
