-- Documents that a brand has uploaded, as they came. What is read of them is in `documents`, as with files of a folder.
create table uploads (
    upload_id    bigint generated always as identity primary key,
    brand_slug   text not null,
    name         text not null,
    size         bigint not null,
    content_hash bytea not null,
    content      bytea not null,
    title        text,
    url          text,
    licence      text,
    own          boolean not null default false,
    uploaded_at  timestamptz not null default now(),
    corpus       text not null generated always as ('brand:' || brand_slug) stored,
    path         text not null generated always as ('uploads/' || upload_id::text || '/' || name) stored,
    unique (brand_slug, content_hash)
);
-- Most documents are packed already.
alter table uploads alter column content set storage external;
comment on column uploads.content_hash is 'SHA-256: the same bytes twice are one document';
comment on column uploads.title is 'as who uploaded it says, like url and licence; null where the document speaks for itself';
comment on column uploads.own is 'whether it is the brand''s own text, which it may quote as it likes';
comment on column uploads.corpus is 'as of documents, which have this path in it';

alter table documents add column own boolean not null default false;
comment on column documents.own is 'whether it is the brand''s own text, as of uploads';
