// The screens of drafts: keys, the passage of a chosen sentence, and words that are kept in the browser until they are stored.
"use strict";
(() => {
  const list = document.querySelector("[data-drafts-list]");
  const draft = document.querySelector("[data-draft]");

  const isTyping = (target) =>
    target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

  const onKeys = (acts) =>
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
      const act = acts[event.key.toLowerCase()];
      if (act && act() !== false) event.preventDefault();
    });

  if (list) {
    const rows = [...list.querySelectorAll("[data-row]")];
    const here = () => rows.findIndex((row) => row.contains(document.activeElement));
    const move = (step) => {
      const at = here();
      const row = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + step, 0), rows.length - 1)];
      if (row) row.querySelector("[data-open]").focus();
    };
    const press = (name) => {
      const found = rows[here()]?.querySelector(name);
      if (!found) return false;
      found.click();
    };
    onKeys({
      j: () => move(1),
      k: () => move(-1),
      a: () => press("[data-approve]"),
      r: () => press("[data-reject]"),
      e: () => press("[data-edit]"),
      x: () => press("input[type=checkbox]"),
    });
  }

  if (!draft) return;

  const open = (id) => {
    const found = document.getElementById(id);
    if (!found) return false;
    if (found instanceof HTMLDetailsElement) found.open = true;
    found.scrollIntoView({ block: "center" });
    (found.querySelector("textarea, input[type=text], input[type=datetime-local]") || found).focus();
  };
  const follow = (address) => {
    if (!address) return false;
    location.assign(address);
  };
  onKeys({
    j: () => follow(draft.dataset.following),
    k: () => follow(draft.dataset.before),
    a: () => {
      const button = draft.querySelector("[data-approve]");
      if (!button) return false;
      button.click();
    },
    r: () => open("reject"),
    e: () => {
      const area = draft.querySelector("textarea[name=body_markdown]");
      if (!area) return false;
      area.scrollIntoView({ block: "center" });
      area.focus();
    },
  });
  const begin = () => {
    if (location.hash === "#reject" || location.hash === "#return") open(location.hash.slice(1));
    if (location.hash === "#edit") draft.querySelector("textarea[name=body_markdown]")?.focus();
  };
  begin();
  // Going to the fragment, the browser takes the focus away again, unless somebody types already.
  addEventListener("load", () => setTimeout(() => { if (!isTyping(document.activeElement)) begin(); }));

  draft.querySelector("[data-select]")?.addEventListener("focus", (event) => event.target.select());

  // The passage of a sentence is fetched into the page; without it the link loads the page with the passage in it.
  let asked = 0;
  draft.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-sentence]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const number = ++asked;
    for (const each of draft.querySelectorAll("a[aria-current]")) each.removeAttribute("aria-current");
    for (const each of draft.querySelectorAll(`a[data-sentence="${CSS.escape(link.dataset.sentence)}"]`))
      each.setAttribute("aria-current", "true");
    try {
      const answer = await fetchSignedIn(link.dataset.sentence, { headers: { Accept: "text/html" }, redirect: "error" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const card = page.getElementById("evidence-card");
      if (!answer.ok || !card) throw new Error("no passage");
      if (number !== asked) return;
      const place = document.getElementById("evidence-card");
      place.replaceChildren(...[...card.childNodes].map((node) => document.importNode(node, true)));
      const aside = document.getElementById("evidence");
      if (getComputedStyle(aside).position !== "sticky") aside.scrollIntoView({ block: "start" });
    } catch {
      location.assign(link.href);
    }
  });

  // What others did while this page was open: it is said here, and nothing that is typed is touched.
  const newer = document.getElementById("draft-newer");
  const stateAtFirst = newer?.querySelector("[data-state]")?.dataset.state;
  const readingAtFirst = newer?.querySelector("[data-reading]")?.dataset.reading;
  const tellNewer = () => {
    const version = newer.querySelector("[data-newest]");
    const state = newer.querySelector("[data-state]");
    const mine = Number(draft.querySelector("[data-editor]")?.elements.version.value || draft.dataset.version);
    if (version && location.search.indexOf("version=") < 0) {
      version.hidden = Number(version.dataset.newest) <= mine;
      const link = version.querySelector("[data-changes]");
      link.href = `${link.dataset.changes}${mine}..${version.dataset.newest}`;
    }
    const reading = newer.querySelector("[data-reading]");
    if (reading) reading.hidden = reading.dataset.reading !== "waiting" && reading.dataset.reading === readingAtFirst;
    if (state) state.hidden = state.dataset.state === stateAtFirst || !version.hidden;
  };
  if (newer) {
    new MutationObserver(tellNewer).observe(newer, { childList: true });
  }

  // Words that are not stored yet stay in this browser, one copy for each tab, until the service has them.
  const form = draft.querySelector("[data-editor]");
  const state = form?.querySelector("[data-editor-state]");
  const prefix = `draft ${draft.dataset.draft} `;
  const store = {
    get: (key) => {
      try {
        return JSON.parse(localStorage.getItem(key));
      } catch {
        return null;
      }
    },
    set: (key, value) => {
      try {
        localStorage.setItem(key, JSON.stringify(value));
      } catch {
        // A full or forbidden storage keeps nobody from writing.
      }
    },
  };
  let tab;
  try {
    tab = sessionStorage.getItem("tab") || crypto.getRandomValues(new Uint32Array(2)).join("-");
    sessionStorage.setItem("tab", tab);
  } catch {
    tab = "one";
  }
  const key = prefix + tab;
  const saved = draft.querySelector("[data-saved]");
  const kept = store.get(key);
  // What was sent and is stored now needs no copy; what was typed behind it does.
  if (saved && kept && kept.sent) localStorage.removeItem(key);
  if (!form) return;

  const names = ["title", "body_markdown", "meta_description", "slug", "key_points", "comment"];
  const texts = () => Object.fromEntries(names.map((name) => [name, form.elements[name].value]));
  const atFirst = texts();
  const differs = (one, other) => names.some((name) => one[name] !== other[name]);
  const bringBack = (copy) => {
    for (const name of names) if (typeof copy.texts[name] === "string") form.elements[name].value = copy.texts[name];
    form.elements.version.value = copy.base;
    form.dataset.base = copy.base;
  };
  const say = (text) => {
    state.textContent = text;
  };
  const keep = (more = {}) => {
    if (differs(texts(), atFirst) || form.hasAttribute("data-conflict"))
      store.set(key, { base: form.elements.version.value, texts: texts(), at: Date.now(), ...more });
    else localStorage.removeItem(key);
  };

  const mine = store.get(key);
  if (form.hasAttribute("data-conflict")) keep();
  else if (mine && mine.texts && differs(mine.texts, atFirst)) {
    bringBack(mine);
    say(form.dataset.restored);
  } else {
    for (let at = 0; at < localStorage.length; at++) {
      const other = localStorage.key(at);
      const copy = other.startsWith(prefix) && other !== key ? store.get(other) : null;
      if (!copy || !copy.texts || !differs(copy.texts, atFirst)) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = form.dataset.older;
      button.addEventListener("click", () => {
        bringBack(copy);
        localStorage.removeItem(other);
        keep();
        say(form.dataset.restored);
        form.elements.body_markdown.focus();
      });
      state.replaceChildren(button);
      break;
    }
  }
  form.addEventListener("input", () => {
    keep();
    say(differs(texts(), atFirst) ? form.dataset.unsaved : "");
  });
  form.addEventListener("submit", () => keep({ sent: true }));

  // While one types, changed sentences are compared with the sources, after a pause and one text at a time.
  const PAUSE_MS = 900;
  const place = form.querySelector("[data-checked]");
  const body = form.elements.body_markdown;
  let pause = 0;
  let underWay = null;
  let checkedText = body.value;
  const check = async () => {
    if (body.value === checkedText) return;
    const text = body.value;
    underWay?.abort();
    const own = (underWay = new AbortController());
    try {
      const answer = await fetchSignedIn(form.dataset.check, {
        method: "POST",
        body: new URLSearchParams({ body_markdown: text, version: form.elements.version.value }),
        headers: { Accept: "text/html" },
        redirect: "error",
        signal: own.signal,
      });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = page.getElementById("checked");
      if (!answer.ok || !found) throw new Error("not checked");
      if (own.signal.aborted) return;
      checkedText = text;
      place.replaceChildren(...[...found.childNodes].map((node) => document.importNode(node, true)));
    } catch {
      if (!own.signal.aborted) place.textContent = form.dataset.noCheck;
    }
  };
  body.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(check, PAUSE_MS);
  });
  if (form.hasAttribute("data-conflict")) checkedText = "";
  if (body.value !== body.defaultValue || !checkedText) check();
  place.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-start]");
    if (!button) return;
    // The service counts characters, and the browser counts units of UTF-16.
    const characters = [...checkedText];
    const units = (end) => characters.slice(0, end).join("").length;
    body.focus();
    body.setSelectionRange(units(Number(button.dataset.start)), units(Number(button.dataset.end)));
  });
})();
