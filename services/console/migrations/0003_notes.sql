-- Notes about drafts: what people say to each other, which is never published.
create table notes (
    id         uuid primary key,
    brand      text not null,
    content_id uuid not null,
    answers    uuid references notes on delete cascade,
    person     uuid references people on delete set null,
    name       text not null,
    words      text not null,
    created_at timestamptz not null default now(),
    settled_at timestamptz
);
create index notes_of_content on notes (content_id, created_at);
create index notes_of_brand on notes (brand);
create index notes_by_answered on notes (answers) where answers is not null;
create index notes_of_person on notes (person) where person is not null;
comment on column notes.answers is 'the note that begins the thread; null: this one begins it';
comment on column notes.name is 'the person''s name when it was written; stays when the person leaves';
comment on column notes.settled_at is 'when the thread was settled; null: it is open';
