// Reads a file of keywords into the list, chosen or dropped, so that a person sees it before handing it in.
const MAX_BYTES = 1_000_000;
const form = document.querySelector("[data-keyword-form]");
if (form) {
  const list = form.querySelector("[data-keyword-list]");
  const row = form.querySelector("[data-keyword-file]");
  const input = row.querySelector("input");
  const status = row.querySelector("[role=status]");
  const read = async (file) => {
    if (!file) return;
    if (file.size > MAX_BYTES) {
      status.textContent = input.dataset.tooLarge;
      return;
    }
    list.value = await file.text();
    status.textContent = file.name;
    list.focus();
  };
  row.hidden = false;
  input.addEventListener("change", () => read(input.files[0]));
  list.addEventListener("dragover", (event) => event.preventDefault());
  list.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    read(event.dataTransfer.files[0]);
  });
}
