-- Commands that wait for money, for a provider, for their turn: so that whoever asked is told, and not each time anew. A row goes when
-- its command has ended.
create table waits (
    event_id  uuid        primary key,
    waits_for text        not null,
    since     timestamptz not null default now(),
    noted_at  timestamptz not null default now(),
    told_at   timestamptz
);
comment on column waits.waits_for is 'as it was told last, or will be';
create index waits_by_time on waits (noted_at);

-- What could not be paid for is left out where the rest is enough.
alter table research add column left_out text not null default '';
comment on column research.left_out is 'where was not looked, and why; empty: everywhere was';
