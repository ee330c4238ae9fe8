-- What a model has proposed to search for, for a command that has not ended: what is searched for must be the same at every delivery, or it
-- would be paid for again. Empty where nothing usable was proposed.
create table proposals (
    event_id    uuid        primary key,
    queries     text[]      not null,
    proposed_at timestamptz not null default now()
);
create index proposals_by_time on proposals (proposed_at);
