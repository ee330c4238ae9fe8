-- Accounts at the gateway whose access ends soon or has ended, as they were when the gateway was asked last: audits tell of them,
-- and ask nobody themselves.
create table accounts_in_trouble (
    account    text        not null,
    -- '*': every brand may use it.
    brand_slug text        not null,
    kind       text        not null,
    state      text        not null check (state in ('expiring', 'needs_reconnecting')),
    detail     text        not null default '',
    -- When its access ends, if anybody knows.
    expires_at timestamptz,
    -- Since when it has been seen in this state.
    since      timestamptz not null,
    primary key (account, brand_slug)
);
create index accounts_in_trouble_of_brands on accounts_in_trouble (brand_slug);

-- One row: when the gateway is asked the next time, and how it went the last time.
create table account_looks (
    is_the_one boolean     primary key default true check (is_the_one),
    next_at    timestamptz not null,
    looked_at  timestamptz,
    trouble    text
);
insert into account_looks (next_at) values (now());

-- Findings of kinds that the version before does not know; beside the audit's row, of which that version reads every column.
create table audit_findings_of_accounts (
    audit_id uuid    primary key references audits on delete cascade,
    findings jsonb   not null,
    is_cut   boolean not null
);
