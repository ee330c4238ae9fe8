-- Dead letters that people have edited, as their consumers report it. The report may arrive before its dead letter, or after the
-- edited message was handled or has died.
create table dead_letter_edits (
    edited_event_id uuid        primary key,
    dead_event_id   uuid        not null,
    queue           text        not null,
    -- The payload of the edited message, as JSON; that of the original stays with the dead letter.
    content         bytea       not null,
    -- The brand that it names, for its erasure.
    brand_slug      text,
    edited_by       text        not null,
    reason          text        not null,
    edited_at       timestamptz not null
);
create index dead_letter_edits_dead_event_id on dead_letter_edits (dead_event_id);
create index dead_letter_edits_brand on dead_letter_edits (brand_slug) where brand_slug is not null;
