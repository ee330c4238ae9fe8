-- A document is a tree of sections. They are found by what they are about: their titles, their other names, and the terms of an index that
-- lead to them; the blocks of those that were chosen are loaded.
alter table documents add column extraction integer not null default 0;
comment on column documents.extraction is
    'what was taken from the file (research.index.files.EXTRACTION); it is read again if that is not all, and served meanwhile';
alter table documents add column toc json;
comment on column documents.toc is '[[title, target, depth]], its tables of contents';
alter table documents add column index_terms json;
comment on column documents.index_terms is '[[term, target]], if the page is an index';
alter table documents add column abbreviations json;
comment on column documents.abbreviations is '{"VPN": "Virtual Private Network"}, those that it introduces';
alter table documents add column text_hash text;
comment on column documents.text_hash is 'of the words of its sections: pages of one text under two names have the same';
alter table documents add column is_copy boolean not null default false;
comment on column documents.is_copy is 'whether another page of the corpus has the same text; its sections are no candidates';
alter table documents add column pages_above text[] not null default '{}';
comment on column documents.pages_above is 'titles of the pages whose tables of contents lead here, the nearest first';

create table sections (
    document_id bigint not null references documents on delete cascade,
    position    integer not null,
    last        integer not null,
    level       smallint not null,
    title       text not null,
    anchor      text not null,
    anchors     text[] not null,
    above       text[] not null,
    names       text[] not null,
    own_words   integer not null,
    words       integer not null,
    blocks      json not null,
    primary key (document_id, position)
);
comment on column sections.position is 'in reading order; the page itself is 0';
comment on column sections.last is 'position of the last section below it, its own if there is none';
comment on column sections.anchors is 'all ids by which links lead to it;  is the page''s own';
comment on column sections.above is 'the titles above it, the page first';
comment on column sections.blocks is 'its own, as documents.json_form has them';

create table section_names (
    document_id bigint not null,
    position    integer not null,
    kind        text not null check (kind in ('title', 'name', 'term')),
    name        text not null,
    stems       text[] not null,
    primary key (document_id, position, kind, name),
    foreign key (document_id, position) references sections on delete cascade
);
comment on column section_names.stems is 'documents.words.telling_stems without light words, sorted';
comment on column section_names.kind is 'term: of an index that leads here; name: what the page itself calls it besides';
create index section_names_by_stems on section_names (stems);
create index section_names_with_stems on section_names using gin (stems) with (fastupdate = off);
create index section_names_of_indexes on section_names (document_id) where kind = 'term';

select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function describe_sections_to_planner() returns void
    language plpgsql security definer set search_path from current
as $$
begin
    analyze sections, section_names;
end
$$;

-- What is true of a corpus as a whole, counted when its index has changed.
create table collections (
    corpus        text primary key,
    product_words text[] not null,
    site_names    text[] not null,
    abbreviations json not null,
    title_suffixes text[] not null default '{}'
);
comment on column collections.product_words is 'stems that so many page titles have that they name the product';
comment on column collections.title_suffixes is 'ends of page titles that name the site, the longest first';
comment on column collections.site_names is 'headings, in lower case, that so many pages have that they name the site';

-- What an operator states about the documents of a folder (sources.toml).
create table works (
    document_id bigint primary key references documents on delete cascade,
    work        json
);
comment on column works.work is 'reading.works.StatedWork; null while the file has an error, which documents.problem names';

alter table indexing add column extraction integer not null default 0;
comment on column indexing.extraction is 'as of documents: the one by which all of the corpus had been read';

alter table sources add column work text;
comment on column sources.work is 'the handbook, site or book that it is part of, as the operator states it';
alter table sources add column section json;
comment on column sources.section is 'the section about the keyword, as documents.json_form has it; null: passages alone';
alter table sources add column about real not null default 0;
alter table sources add column titles_above json not null default '[]';

-- What was found before is looked for again, by sections.
update research set expires_at = now() where expires_at > now();
