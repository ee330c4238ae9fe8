-- Articles whose writing waits, for a budget or a model, and why: for whoever asks how a keyword fares. A row goes when the
-- writing goes on.
create table writing_waits (
    content_id uuid        primary key,
    reason     text        not null,
    since      timestamptz not null default now(),
    until      timestamptz not null
);

-- Brands take turns: a keyword of one that has enough articles in hand is not written yet.
alter table keywords add column awaits_turn boolean not null default false;
