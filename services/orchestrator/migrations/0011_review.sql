-- What a person decided about an article, and when its draft began to wait. A draft that waits has reasons (`held_for`) and no
-- decision; so the version before, which knows no decisions, stores drafts that wait.
alter table content
    add column decision text,
    add column waits_since timestamptz,
    -- Of an approved article: a newer version that waits to be approved, too.
    add column offered_version int;
alter table content
    add constraint content_decision_known check (decision in ('approved', 'returned', 'rejected')) not valid;

-- All that was decided, the latest last.
create table decisions (
    decision_id bigint      generated always as identity primary key,
    content_id  uuid        not null references content on delete cascade,
    version     int         not null,
    decision    text        not null check (decision in ('approved', 'returned', 'edited', 'rejected')),
    comment     text        not null,
    made_by     text        not null,
    made_at     timestamptz not null default clock_timestamp()
);
create index decisions_by_content on decisions (content_id, decision_id);

alter table brands
    -- What a person wants to see before it is published; null: what the writer and the target suggest.
    add column approval text,
    -- When a person last looked at what waits.
    add column looked_at timestamptz;
alter table brands
    add constraint brands_approval_known check (approval in ('everything', 'first', 'nothing')) not valid;

alter table keywords add column rejected boolean not null default false;
