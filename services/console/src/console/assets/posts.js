// Counts the text of a post while it is typed, as its channel counts it.
const text = document.querySelector("[data-count]");
const lengths = document.querySelector("[data-lengths]");
if (text && lengths) {
  let timer;
  let asked = 0;
  const count = async () => {
    const number = ++asked;
    try {
      const answer = await fetchSignedIn(text.dataset.count, { method: "POST", body: new URLSearchParams({ text: text.value }) });
      // A later text may have been answered before this one.
      if (answer.ok && number === asked) lengths.innerHTML = await answer.text();
    } catch {
      // The text is counted again when it is saved.
    }
  };
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(count, 300);
  });
}
