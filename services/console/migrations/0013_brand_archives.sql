-- Archives of brands that people upload to import them. Pieces are rows, so that every replica has them, and none needs a disk.
create table brand_archives (
    id         uuid primary key,
    person     uuid references people on delete set null,
    file_name  text not null,
    size       bigint not null,
    state      text not null default 'arriving'
        check (state in ('arriving', 'arrived', 'refused', 'running', 'broken', 'done')),
    contents   jsonb,
    slug       text,
    progress   jsonb,
    report     jsonb,
    problem    text,
    made_at    timestamptz not null default now(),
    begun_at   timestamptz,
    seen_at    timestamptz not null default now()
);
create index brand_archives_by_time on brand_archives (made_at);
comment on column brand_archives.contents is 'what the archive says about itself; null until it has arrived';
comment on column brand_archives.problem is 'why it was refused or broke off, as a sentence';
comment on column brand_archives.seen_at is 'when its upload or its import last went on; an import that is silent has ended with its process';
create table brand_archive_pieces (
    archive uuid not null references brand_archives on delete cascade,
    number  integer not null,
    content bytea not null,
    primary key (archive, number)
);
-- It is compressed already.
alter table brand_archive_pieces alter column content set storage external;
