alter table documents add column set_aside_at timestamptz;
comment on column documents.set_aside_at is
    'when reading the file was given up; it is not read again until it changes or somebody releases it';

-- What is being read, and how often reading it has begun without an end: what the service leaves here when it dies may
-- be what it died of.
create table reads_under_way (
    corpus      text not null,
    path        text not null,
    size        bigint not null,
    modified_ns bigint not null,
    reader      uuid not null,
    starts      integer not null default 1,
    started_at  timestamptz not null default now(),
    primary key (corpus, path)
);
comment on column reads_under_way.reader is 'the running service: what it has left itself, it did not die of';

-- Titles no longer tell a file's name, addresses no longer a user's. What was read before is read again at the next
-- start, what was found with it is looked for again, and what is kept loses the user.
update documents set modified_ns = -1;
update documents set url = regexp_replace(url, '^(https?://)[^/?#]*@', '\1', 'i') where url like '%@%';
update research set expires_at = now() where expires_at > now();
update sources set url = regexp_replace(url, '^(https?://)[^/?#]*@', '\1', 'i') where url like '%@%';
