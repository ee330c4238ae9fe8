-- "To back up", "backing up" and "a backup" are one word to somebody who searches; "up" alone is none to the index. What stems do
-- not bring together otherwise, `research.synonyms` does. Documents are indexed once more.
-- contract: the version before asks and indexes by this function too, so that both find the same
create or replace function searchable(content text) returns tsvector
    language sql immutable parallel safe strict
    return to_tsvector(
        'pg_catalog.english',
        translate(
            regexp_replace(
                content,
                '\m(?:(back|set|start|shut|roll|fail)(?:s|t?ing|ed)?[- ](up|down|back|over)'
                '|(log)(?:ged|ging)[- ](in)|(log)[- ](in)(?=[- ]?to\M)|(sign)(?:s|ing|ed)?[- ](in|up))\M',
                '\1\2\3\4\5\6\7\8', 'gi'),
            '-/‐‑‒–—―−_', '         ')
    );

update documents set modified_ns = -1, content_hash = null;
update research set expires_at = now() where expires_at > now();
