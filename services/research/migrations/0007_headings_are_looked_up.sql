-- outside a transaction
-- An entry of a glossary is found by its heading: "Hook" above "A program that …".
create index concurrently if not exists passages_headings on passages using gin (heading_search) with (fastupdate = off);
