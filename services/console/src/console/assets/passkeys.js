"use strict";
// Makes a passkey, or signs in with one. What the passkey calculates (the extension prf) opens the person's own key.
(() => {
  const adding = document.querySelector("[data-passkey-add]");
  const signing = document.querySelector("[data-passkey-sign-in]");
  const form = adding || signing;
  if (!form) return;
  const button = form.querySelector("[data-passkey]");
  const problem = document.querySelector("[data-passkey-problem]");
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
  const written = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const extensions = { prf: { eval: { first: bytes(form.dataset.prfInput) } } };
  const resultOf = (credential) => credential.getClientExtensionResults().prf?.results?.first;
  const ask = async (options) => navigator.credentials.get({ publicKey: { ...options, userVerification: "required", extensions } });
  const send = (credential, result) => {
    // The result goes in a field of its own, which is not kept.
    form.elements.credential.value = JSON.stringify({ ...credential.toJSON(), clientExtensionResults: {} });
    form.elements.prf.value = written(result);
    form.requestSubmit();
  };

  const add = async () => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(form.dataset.options));
    const made = await navigator.credentials.create({ publicKey: { ...publicKey, extensions } });
    let result = resultOf(made);
    if (!result && made.getClientExtensionResults().prf?.enabled) {
      // Some passkeys calculate only when they sign.
      const allowCredentials = [{ type: "public-key", id: made.rawId }];
      result = resultOf(await ask({ challenge: crypto.getRandomValues(new Uint8Array(32)), rpId: publicKey.rp.id, allowCredentials }));
    }
    if (result) return send(made, result);
    problem.textContent = form.dataset.noPrf;
    await PublicKeyCredential.signalUnknownCredential?.({ rpId: publicKey.rp.id, credentialId: made.id });
  };

  const signIn = async () => {
    const answer = await fetch(form.dataset.begin, { method: "POST" });
    const { challenge, rpId } = await answer.json();
    const got = await ask({ challenge: bytes(challenge), rpId });
    form.elements.challenge.value = challenge;
    form.elements.credential_id.value = got.id;
    send(got, resultOf(got) || new ArrayBuffer(0));
  };

  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) {
    if (adding) {
      problem.textContent = form.dataset.oldBrowser;
      button.hidden = true;
    }
    return;
  }
  form.hidden = false;
  button.addEventListener("click", async () => {
    problem.textContent = "";
    button.disabled = true;
    try {
      await (adding ? add() : signIn());
    } catch (error) {
      problem.textContent = error.name === "InvalidStateError" ? form.dataset.known : form.dataset.failed;
    } finally {
      button.disabled = false;
    }
  });
})();
