-- Addresses that published articles are found at and refer to, and how they answered when they were looked at last.
create table links (
    brand_slug    text        not null references brands,
    address       text        not null,
    -- 'page': of the brand itself; 'source': of somebody else.
    kind          text        not null check (kind in ('page', 'source')),
    -- One of the articles.
    content_id    uuid        not null references content on delete cascade,
    -- Null: not in this round.
    due_at        timestamptz,
    -- Until then no other replica looks.
    in_hand_until timestamptz,
    looked_at     timestamptz,
    outcome       text        check (outcome in ('there', 'gone', 'unsure')),
    detail        text        not null default '',
    -- Since when, and in how many rounds in a row, it has had this outcome.
    since         timestamptz,
    rounds        int         not null default 0,
    primary key (brand_slug, kind, address)
);
create index links_due on links (due_at) where due_at is not null;
create index links_of_articles on links (content_id);

-- When the links of a brand are gathered and looked at the next time.
create table link_rounds (
    brand_slug text        primary key references brands,
    next_at    timestamptz not null,
    -- Why nothing can be looked at now.
    trouble    text
);
create index link_rounds_due on link_rounds (next_at);

-- What an audit could not look at; beside its row, of which the version before reads every column.
create table audit_notes (
    audit_id uuid   primary key references audits on delete cascade,
    notes    text[] not null
);
