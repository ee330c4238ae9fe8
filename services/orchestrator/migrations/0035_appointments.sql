-- At what time which version of an article is to be published. A row that has ended says how; one at most stands.
create table appointments (
    appointment_id bigint      generated always as identity primary key,
    content_id     uuid        not null references content on delete cascade,
    version        int         not null,
    publish_at     timestamptz not null,
    made_by        text        not null,
    made_at        timestamptz not null default clock_timestamp(),
    ended_at       timestamptz,
    ended_by       text,
    -- 'kept': it was published then. 'moved': to another time or version. 'called_off' by a person; 'overtaken' by another decision.
    ended_as       text check (ended_as in ('kept', 'moved', 'called_off', 'overtaken'))
);
create unique index appointments_standing on appointments (content_id) where ended_at is null;
create index appointments_due on appointments (publish_at) where ended_at is null;
create index appointments_by_content on appointments (content_id, appointment_id);
