-- Commits that services have lost, by their own clocks: what they answered between these times, they may have forgotten.
create table commit_losses (
    service    text        not null,
    kept_until timestamptz not null,
    noticed_at timestamptz not null,
    primary key (service, noticed_at)
);
-- Articles about which a service is to be asked once more, as it may have forgotten what it has answered.
create table answers_to_confirm (
    service     text        not null check (service in ('publisher', 'social')),
    content_id  uuid        not null,
    -- When the service may have lost what it did.
    asked_since timestamptz not null,
    primary key (service, content_id)
);
-- Since when its posts may have been asked for by a transaction that this database has lost; null: since never, as far as is known.
alter table keywords add column may_be_promoted_since timestamptz;
