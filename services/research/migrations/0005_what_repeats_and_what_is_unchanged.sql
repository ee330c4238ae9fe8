-- A file that was only touched is not read again, blocks that repeat over the pages of a folder are left out, and how far the
-- reading is can be asked. All documents are read once more: what is taken from a file has changed.
alter table documents add column content_hash bytea;
comment on column documents.content_hash is 'SHA-256 of the file; null when it could not be opened';
alter table documents add column paragraphs bigint[];
comment on column documents.paragraphs is 'fingerprints of its paragraphs, before any were left out';
alter table documents add column left_out bigint[];
comment on column documents.left_out is 'those of its paragraphs that repeat over other documents and are not searched';

create table indexing (
    corpus      text primary key,
    to_read     integer not null,
    done        integer not null,
    complete_at timestamptz
);
comment on table indexing is 'the latest look at the corpus: files that had changed, and how many of them were read';
comment on column indexing.complete_at is 'when all of the corpus had been read for the first time; null before that';

update documents set modified_ns = -1;
update research set expires_at = now() where expires_at > now();
