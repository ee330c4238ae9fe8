-- Posts on other people's platforms: one row for each article and channel, from the command to where it can be seen. In a table of
-- its own: what waits in pending_posts, the version before would put into the feed.
create table channel_posts (
    post_id        uuid        primary key,
    -- The order in which they came, together with those of pending_posts.
    number         bigint      not null unique default nextval('pending_posts_number_seq'),
    brand_slug     text        not null,
    content_id     uuid        not null,
    -- How the command called the channel, which is how it is answered: a kind, or the name of an account.
    asked_as       text        not null,
    -- The same without regard to case: a repeated command finds its post instead of making another.
    entry          text        not null,
    -- 0: when the article came out; further ones are posts about it once more.
    occurrence     int         not null default 0 check (occurrence >= 0),
    correlation_id text,
    -- What there is to say: {title, keyword, description, points, tags, link, pictures, language}.
    material       jsonb       not null,
    approval       text        not null default 'nothing',
    -- Which account it is, and what is said there: null until the gateway has been asked.
    channel        text,
    account        text,
    text           text,
    tags           jsonb       not null default '[]',
    placement      text        not null default 'in_text',
    version        int         not null default 1,
    state          text        not null default 'new' check (state in
                   ('new', 'waiting', 'planned', 'sending', 'posted', 'failed', 'in_doubt', 'called_off', 'rejected')),
    -- When it is to go out; moves while it is planned.
    due_at         timestamptz,
    -- Not looked at again earlier, although it is due.
    held_until     timestamptz,
    -- Since when it is being sent, and when that is tried next.
    claimed_at     timestamptz,
    retry_at       timestamptz,
    -- The time of the first attempt, which later ones repeat.
    begun_at       timestamptz,
    -- Why it is not out, for programs and for people.
    reason         text        not null default '',
    detail         text        not null default '',
    -- The message that ended it: another one tries again.
    ended_by       uuid,
    post_url       text,
    posted_at      timestamptz,
    since          timestamptz not null default clock_timestamp(),
    unique (content_id, entry, occurrence)
);
-- One post about an article on an account, by whatever name the account was asked for.
create unique index channel_posts_by_account on channel_posts (content_id, account, occurrence) where account is not null;
create index channel_posts_due on channel_posts (channel, due_at, number) where state = 'planned';
create index channel_posts_under_way on channel_posts (channel, claimed_at) where state = 'sending';
create index channel_posts_open on channel_posts (number) where state in ('new', 'waiting', 'planned', 'sending', 'in_doubt', 'failed');
create index channel_posts_of_brands on channel_posts (brand_slug, number);

-- All that was decided, the latest last; of an edit, what the text was made into.
create table channel_post_decisions (
    decision_id bigint      generated always as identity primary key,
    post_id     uuid        not null references channel_posts on delete cascade,
    version     int         not null,
    decision    text        not null check (decision in ('approved', 'scheduled', 'called_off', 'edited', 'rejected')),
    comment     text        not null,
    text        text,
    made_by     text        not null,
    made_at     timestamptz not null default clock_timestamp()
);
create index channel_post_decisions_by_post on channel_post_decisions (post_id, decision_id);

-- What a brand wants of its posts on a channel, where it differs from what is usual there.
create table channel_rules (
    brand_slug text        not null check (brand_slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    channel    text        not null,
    -- Where the link stands; null: as is usual.
    link       text        check (link in ('in_text', 'first_comment', 'none')),
    -- Hashtags without their #, before those of the article; and how many a post has at most, null: as many as is usual.
    hashtags   text[]      not null default '{}',
    most_tags  int         check (most_tags between 0 and 30),
    changed_at timestamptz not null default clock_timestamp(),
    primary key (brand_slug, channel)
);
