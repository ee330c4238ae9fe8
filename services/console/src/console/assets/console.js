"use strict";
// A form is sent once: its buttons rest while the answer is under way.
document.addEventListener("submit", (event) => {
  for (const button of event.target.querySelectorAll("button")) button.setAttribute("aria-disabled", "true");
});

// A menu of the bar, or of a brand's screens, closes by Escape, and when its reader goes elsewhere.
for (const menu of document.querySelectorAll(".bar .menu, .screens .menu")) {
  // On a phone its entries continue a line that goes on beyond the edge.
  if (menu.closest(".screens")) {
    menu.addEventListener("toggle", () => menu.open && menu.scrollIntoView({ inline: "start", block: "nearest" }));
  }
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  // Without a target the window has lost the focus, or a press was on something that takes none.
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
}

// On a phone the cells of a list stand below each other: the style shows the name of its column before each, which some templates
// give themselves.
(() => {
  const label = () => {
    for (const cell of document.querySelectorAll("table.list tbody td:not([data-label])")) {
      const head = cell.closest("table").tHead?.rows[0].cells[cell.cellIndex];
      const name = head?.textContent.trim();
      // A name that nobody sees is one of buttons, which say themselves what they do.
      if (name && !head.querySelector(".visually-hidden") && cell.colSpan === 1 && (cell.textContent.trim() || cell.firstElementChild)) cell.dataset.label = name;
    }
  };
  label();
  // Live updates bring new rows.
  new MutationObserver(label).observe(document.querySelector("main"), { childList: true, subtree: true });
})();

// On a phone the screens of a brand are one line, in which the present one is in view.
document.querySelector(".screens [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A session that has ended is begun again over the page, by the same person, so that nothing typed is lost.
(() => {
  const template = document.querySelector("template[data-sign-in]");
  if (!template) return;
  const CERTAIN_MS = 30_000; // The session was there that lately: a form is sent without asking for it.
  const checked = new WeakSet(); // forms that may be sent
  const asking = new WeakSet();
  let seenAt = performance.now();
  let isOver = false;
  let waiting = null; // { promise, settle } while somebody has to sign in
  let dialog = null;

  const isTyping = () =>
    document.activeElement?.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");

  const make = () => {
    dialog = template.content.querySelector("dialog").cloneNode(true);
    const form = dialog.querySelector("form");
    const problem = dialog.querySelector("[role=alert]");
    const password = form.elements.password;
    document.body.append(dialog);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      problem.textContent = "";
      try {
        const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
        if (answer.ok) {
          isOver = false;
          seenAt = performance.now();
          dialog.close();
          document.dispatchEvent(new Event("signed-in"));
          return;
        }
        problem.textContent = await answer.text();
      } catch {
        problem.textContent = template.dataset.away;
      }
      password.value = "";
      password.focus();
    });
    dialog.querySelector("[data-later]").addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      password.value = "";
      problem.textContent = "";
      waiting?.settle(!isOver);
      waiting = null;
    });
  };

  const show = () => {
    if (!dialog) make();
    if (!dialog.open) dialog.showModal();
  };

  // Returns a promise of whether the person has signed in. Unless it is urgent, the dialog waits until nobody types.
  const signIn = (urgent) => {
    isOver = true;
    if (!waiting) {
      waiting = {};
      waiting.promise = new Promise((settle) => { waiting.settle = settle; });
    }
    const { promise } = waiting;
    if (urgent || !isTyping()) show();
    return promise;
  };

  const isSignedIn = async () => {
    if (isOver) return false;
    const person = template.content.querySelector("[name=person]").value;
    try {
      const answer = await fetch(`${template.dataset.session}?${new URLSearchParams({ person })}`);
      if (answer.ok) seenAt = performance.now();
      return answer.status !== 401;
    } catch {
      return true; // The browser says best that nothing answers.
    }
  };

  document.addEventListener("focusout", () => {
    setTimeout(() => { if (waiting && !isTyping()) show(); });
  });
  document.addEventListener("signed-out", () => signIn(false));

  // Before other listeners see it: they see only a form that is really sent.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (checked.delete(form) || form.method !== "post" || dialog?.contains(form) || form.hasAttribute("data-any-session")) return;
    if (!isOver && performance.now() - seenAt < CERTAIN_MS) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (asking.has(form)) return;
    asking.add(form);
    const { submitter } = event;
    (async () => {
      if (!(await isSignedIn()) && !(await signIn(true))) return;
      // The id of the form is the person's, and so still good.
      checked.add(form);
      form.requestSubmit(submitter);
    })().finally(() => { asking.delete(form); checked.delete(form); });
  }, true);

  // For scripts that send what a person types: like `fetch`, and again once the person has signed in.
  window.fetchSignedIn = async (address, options) => {
    const answer = await fetch(address, options);
    if (answer.status !== 401 || !answer.headers.has("Console-Signed-Out")) return answer;
    return (await signIn(false)) ? fetch(address, options) : answer;
  };

  // Files that are dropped on a place are given to `take`; while they are over it, it has the class `over`.
  window.acceptDrops = (place, take) => {
    place.addEventListener("dragover", (event) => {
      event.preventDefault();
      place.classList.add("over");
    });
    place.addEventListener("dragleave", () => place.classList.remove("over"));
    place.addEventListener("drop", (event) => {
      place.classList.remove("over");
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      take([...event.dataTransfer.files]);
    });
  };
})();

// Words that stand in one form while another form of the page is sent are there again on the next page that has their form.
(() => {
  const STORED = "typed-words";
  const WORDS = "textarea, input:not([type]), input[type=text]";
  const load = () => { try { return JSON.parse(sessionStorage.getItem(STORED)) || {}; } catch { return {}; } };
  const store = (words) => { try { sessionStorage.setItem(STORED, JSON.stringify(words)); } catch { /* a full storage keeps nobody from sending */ } };
  // An editor keeps its own copy.
  const forms = () => [...document.forms].filter((form) => form.method === "post" && !form.hasAttribute("data-editor"));
  const keyOf = (form, field) => JSON.stringify([new URL(form.action).pathname, form.elements.answers?.value || "", field.name]);
  const fieldsOf = (form) => [...form.elements].filter((field) => field.name && field.matches(WORDS) && !field.readOnly);

  const words = load();
  for (const form of forms()) {
    for (const field of fieldsOf(form)) {
      const kept = words[keyOf(form, field)];
      if (!kept) continue;
      delete words[keyOf(form, field)];
      // What somebody else has changed since is not written over.
      if (field.value !== field.defaultValue || field.defaultValue !== kept.before) continue;
      field.value = kept.typed;
      const details = field.closest("details");
      if (details) details.open = true;
    }
  }
  store(words);

  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method !== "post") return;
    // Who signs out leaves nothing behind.
    if (event.target.hasAttribute("data-any-session")) return store({});
    const kept = load();
    for (const form of forms()) {
      for (const field of fieldsOf(form)) {
        const key = keyOf(form, field);
        delete kept[key];
        if (form !== event.target && field.value !== field.defaultValue)
          kept[key] = { typed: field.value, before: field.defaultValue };
      }
    }
    store(kept);
  });
})();
