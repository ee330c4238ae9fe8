-- Filters of lists that a person keeps under a name.
create table saved_views (
    id      uuid primary key,
    person  uuid not null references people on delete cascade,
    brand   text not null,
    screen  text not null,
    name    text not null,
    query   text not null,
    made_at timestamptz not null default now(),
    unique (person, brand, screen, name)
);
create index saved_views_of_brand on saved_views (brand);
comment on column saved_views.query is 'the query of the list''s address, such as ?state=waiting';
