-- outside a transaction
-- Documents whose title has all words of a keyword.
create index concurrently if not exists documents_titles on documents using gin (title_search) with (fastupdate = off);
