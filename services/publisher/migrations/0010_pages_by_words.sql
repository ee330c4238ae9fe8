-- outside a transaction
create index concurrently if not exists pages_by_words on pages using gin (words);
