"use strict";
// Live updates: one stream for this tab says that the page has changed; its live parts are then fetched again.
// A part is replaced only while nobody selects, opens, types, focuses or presses anything in it.
(() => {
  const body = document.body;
  const address = body.dataset.liveAddress;
  if (!address || !window.EventSource) return;
  const STORED = "console-live-paused";
  const RETRY_MS = 60_000;
  const AGAIN_MS = 10_000; // after which a part that could not be fetched is asked for again
  const LOST_MS = 5_000; // how long the browser tries in silence to come back
  const note = document.querySelector("[data-live-note]");
  const button = document.querySelector("[data-live-pause]");
  const parts = [...document.querySelectorAll("[data-live]")];
  const waiting = new Map(); // part -> its new text
  const shown = new Map(); // part -> what the server last sent
  const opened = new WeakMap(); // details -> as it was sent
  let source = null;
  let seen = "";
  let ended = false;
  let isFetching = false;
  let isStale = false;
  let pressed = null;
  let retry = 0;
  let again = 0;
  let lost = 0;

  const say = (text) => { if (note.textContent !== text) note.textContent = text; };
  const stored = () => { try { return sessionStorage.getItem(STORED) === "true"; } catch { return false; } };
  let paused = stored();

  const remember = (part) => {
    for (const each of part.querySelectorAll("details")) opened.set(each, each.open);
  };
  // The id of a form differs in every answer, and says nothing.
  const plain = (text) => text.replace(/(name="once" value|data-once)="[^"]*"/g, "");
  const isTyped = (field) => {
    if (field.type === "hidden") return false;
    if (field.tagName === "SELECT") return [...field.options].some((each) => each.selected !== each.defaultSelected) && field.selectedIndex > 0;
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    return field.value !== field.defaultValue;
  };
  const isInUse = (part) => {
    if (part.contains(document.activeElement) || (pressed && part.contains(pressed))) return true;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && selection.containsNode(part, true)) return true;
    if ([...part.querySelectorAll("details")].some((each) => each.open !== (opened.get(each) ?? each.open))) return true;
    if (part.querySelector("[data-dragged], [data-move]:hover, :popover-open, dialog[open], a:hover, button:hover, input:hover, select:hover, summary:hover")) return true;
    return [...part.querySelectorAll("input, textarea, select")].some(isTyped);
  };

  // Returns whether nothing of the part is in use, so that all of it is new. One with `data-live-children` is renewed child by
  // child, by their ids: what is in use in one of them keeps no other back.
  const renew = (part, fresh) => {
    if (!part.hasAttribute("data-live-children")) {
      if (isInUse(part)) return false;
      part.replaceChildren(...fresh.childNodes);
      remember(part);
      return true;
    }
    let isWhole = true;
    const wanted = [...fresh.children];
    for (const each of [...part.children]) {
      if (wanted.some((one) => one.id === each.id)) continue;
      if (isInUse(each)) isWhole = false;
      else each.remove();
    }
    // Nothing moves while somebody types in it.
    const isBusy = isInUse(part);
    let before = null;
    for (const each of wanted) {
      const next = before ? before.nextElementSibling : part.firstElementChild;
      let here = [...part.children].find((one) => one.id === each.id);
      if (!here) {
        part.insertBefore(each, next);
        remember(each);
        here = each;
      } else if (here !== next) {
        if (isBusy) isWhole = false;
        else part.insertBefore(here, next);
      }
      if (plain(here.outerHTML) !== plain(each.outerHTML)) {
        if (here.hasAttribute("data-live-children")) {
          here.className = each.className;
          isWhole = renew(here, each) && isWhole;
        } else if (isInUse(here)) isWhole = false;
        else {
          here.replaceWith(each);
          remember(each);
          here = each;
        }
      }
      before = here;
    }
    return isWhole;
  };

  const settle = () => {
    if (paused) return;
    for (const [part, text] of waiting) {
      if (renew(part, new DOMParser().parseFromString(text, "text/html").body)) waiting.delete(part);
    }
    if (!ended) say(waiting.size ? note.dataset.held : "");
  };

  const end = () => {
    ended = true;
    close();
    say(note.dataset.ended);
    document.dispatchEvent(new Event("signed-out"));
  };

  document.addEventListener("signed-in", () => {
    if (!ended) return;
    ended = false;
    say("");
    open();
  });

  const fetchPart = async (part) => {
    const answer = await fetch(location.pathname + location.search, {
      headers: { "HX-Request": "true", "HX-Target": part.id, "Console-Live": "true" },
    });
    if (answer.status === 401) return end();
    if (answer.status >= 500) throw new Error("away");
    if (!answer.ok || answer.redirected) return;
    const text = await answer.text();
    if (shown.has(part) && plain(text) === plain(shown.get(part))) return;
    shown.set(part, text);
    waiting.set(part, text);
  };

  const refresh = async () => {
    isStale = true;
    if (isFetching) return;
    isFetching = true;
    try {
      while (isStale && !ended && !paused) {
        isStale = false;
        await Promise.all(parts.map(fetchPart));
        settle();
      }
    } catch {
      // The console is away, or what it needs.
      clearTimeout(again);
      again = setTimeout(refresh, AGAIN_MS);
    } finally {
      isFetching = false;
    }
  };

  const close = () => {
    clearTimeout(retry);
    clearTimeout(lost);
    lost = 0;
    if (source) source.close();
    source = null;
  };

  const open = () => {
    if (source || ended || paused || document.hidden) return;
    const query = new URLSearchParams({ page: body.dataset.livePage, seen });
    source = new EventSource(`${address}?${query}`);
    source.addEventListener("open", () => {
      clearTimeout(lost);
      lost = 0;
      if ([note.dataset.resting, note.dataset.lost].includes(note.textContent)) say("");
    });
    source.addEventListener("changed", (event) => { seen = event.lastEventId; refresh(); });
    source.addEventListener("counts", (event) => {
      seen = event.lastEventId;
      for (const [screen, count] of Object.entries(JSON.parse(event.data))) {
        const shownCount = document.querySelector(`[data-live-count="${CSS.escape(screen)}"]`);
        if (shownCount) shownCount.textContent = count ? ` (${count < 100 ? count : "99+"})` : "";
      }
    });
    source.addEventListener("ended", end);
    source.addEventListener("error", () => {
      if (!source) return;
      // The browser comes back by itself unless it was refused.
      if (source.readyState !== EventSource.CLOSED) {
        lost ||= setTimeout(() => say(note.dataset.lost), LOST_MS);
        return;
      }
      close();
      say(note.dataset.resting);
      retry = setTimeout(open, RETRY_MS);
    });
  };

  button.hidden = false;
  button.setAttribute("aria-pressed", String(paused));
  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    try { sessionStorage.setItem(STORED, String(paused)); } catch { /* it holds for this page */ }
    if (paused) close();
    else { settle(); open(); }
  });
  parts.forEach(remember);
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  document.addEventListener("pointerdown", (event) => { pressed = event.target; });
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => { pressed = null; setTimeout(settle); });
  for (const name of ["focusout", "selectionchange", "pointerout", "input", "toggle"]) {
    document.addEventListener(name, () => { if (waiting.size) setTimeout(settle); }, true);
  }
  open();
})();
