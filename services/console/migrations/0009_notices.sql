-- What a person's page says was done, with what undoes it; kept for an hour.
create table notices (
    id      uuid primary key,
    person  uuid not null references people on delete cascade,
    sealed  bytea not null,
    made_at timestamptz not null default now()
);
create index notices_of_person on notices (person);
create index notices_by_age on notices (made_at);
comment on column notices.sealed is 'the notice, sealed by the person''s own key';
