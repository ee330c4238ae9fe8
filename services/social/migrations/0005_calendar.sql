-- When the accounts of brands post. What has no rules here posts at once.
create table posting_rules (
    brand_slug text        not null check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    account    text        not null,
    -- {time_zone, slots: [{days, times}], spacing_minutes, quiet_hours: {begin, end} or null, duplicates_days}
    rules      jsonb       not null,
    updated_at timestamptz not null default clock_timestamp(),
    primary key (brand_slug, account)
);

-- What is posted again: an article's post on an account, or on each of its accounts.
create table repeats (
    brand_slug text        not null check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    content_id uuid        not null,
    -- Empty: on each.
    account    text        not null,
    -- {kind: "evergreen", cool_down_days, at_most} or {kind: "recurring", time_zone, times: [{days, times}], at_most}
    rule       jsonb       not null,
    made_by    text        not null,
    made_at    timestamptz not null default clock_timestamp(),
    primary key (brand_slug, content_id, account)
);

alter table channel_posts
    -- Whether due_at is a slot, which a person may give to another post.
    add column in_queue boolean not null default false,
    -- How often its time has changed, and when that was last.
    add column moves int not null default 0,
    add column moved_at timestamptz,
    -- Why it is one of several about its article on the account; null: it is the first.
    add column repeats text check (repeats in ('evergreen', 'recurring'));
