"use strict";
// Sends an archive in pieces, shows how far it is, and opens the page that says what is in it.
(() => {
  const place = document.querySelector("[data-archive]");
  if (!place) return;
  const input = place.querySelector("input[type=file]");
  const told = place.querySelector("[data-progress]");
  const PIECE = Number(place.dataset.piece);
  const TRIES = 4;
  const id = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (each) => each.toString(16).padStart(2, "0")).join("");
  const pause = (ms) => new Promise((settle) => setTimeout(settle, ms));
  let isSending = false;

  const post = (address, fields) => fetchSignedIn(address, { method: "POST", body: new URLSearchParams({ once: id(), ...fields }) });

  // A piece is stored once, however often it is sent.
  const sendPiece = async (address, piece) => {
    for (let number = 1; ; number += 1) {
      const answer = await fetchSignedIn(address, {
        method: "POST",
        headers: { "Content-Type": "application/octet-stream" },
        body: piece,
      }).catch(() => null);
      if (answer?.ok) return;
      if (number === TRIES || (answer && answer.status < 500)) throw new Error("piece");
      await pause(1000 * number);
    }
  };

  const send = async (file) => {
    told.classList.remove("failed");
    if (file.size > Number(place.dataset.most)) throw new Error(place.dataset.tooLarge);
    const begun = await post(place.dataset.archive, { name: file.name, size: file.size });
    const text = await begun.text();
    if (!begun.ok) throw new Error((begun.headers.get("content-type") || "").startsWith("text/plain") ? text : place.dataset.failed);
    const bar = document.createElement("progress");
    bar.max = file.size;
    bar.value = 0;
    bar.setAttribute("aria-label", file.name);
    told.replaceChildren(bar);
    for (let number = 0; number * PIECE < file.size; number += 1) {
      await sendPiece(`${text}/pieces/${number}`, file.slice(number * PIECE, (number + 1) * PIECE));
      bar.value = Math.min(file.size, (number + 1) * PIECE);
    }
    await post(`${text}/look`, {});
    location.assign(text);
  };

  const take = ([file]) => {
    if (!file || isSending) return;
    isSending = true;
    told.textContent = file.name;
    send(file).catch((error) => {
      isSending = false;
      const isOurs = error.constructor === Error && error.message !== "piece";
      told.textContent = `${file.name}: ${isOurs ? error.message : place.dataset.failed}`;
      told.classList.add("failed");
    });
  };

  place.hidden = false;
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = "";
  });
  acceptDrops(place, take);
})();
