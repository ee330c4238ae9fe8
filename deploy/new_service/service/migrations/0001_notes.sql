-- What new_service was sent.
create table notes (
    note_id uuid primary key,
    note text not null,
    handled_at timestamptz not null default now()
);
