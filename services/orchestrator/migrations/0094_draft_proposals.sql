-- expand: changes of drafts, and times of publication, that somebody proposes who may not decide.
create table draft_proposals (
    id          uuid        primary key,
    content_id  uuid        not null references content on delete cascade,
    -- The version that it was made for.
    version     int         not null,
    proposed_by text        not null,
    proposed_at timestamptz not null default clock_timestamp(),
    comment     text        not null,
    -- The fields of an edit; null: it proposes to publish the version.
    change      jsonb,
    -- What the edit changes, as a unified diff.
    diff        text        not null default '',
    -- When to publish; null: at once, or an edit.
    publish_at  timestamptz,
    -- 'accepted' or 'dismissed'; null while it is open.
    outcome     text,
    decided_by  text,
    decided_at  timestamptz,
    reason      text        not null default ''
);
create index draft_proposals_of_content on draft_proposals (content_id, id);
create index draft_proposals_open on draft_proposals (id) where outcome is null;
