-- Webhooks of brands: receivers that events are sent to. What is sent is a subscription of the name `brand/webhook`.
create table webhooks (
    subscription text        primary key references subscriptions (name) on delete cascade,
    brand_slug   text        not null,
    name         text        not null,
    -- The gateway's account that signs and sends.
    account      text        not null,
    -- Whether an event waits until the one before it was delivered or given up.
    strict       boolean     not null,
    -- `off`: by a person; `failed`: by the service, which says why in `problem`.
    state        text        not null default 'on' check (state in ('on', 'off', 'failed')),
    problem      text,
    -- Requests since the last delivery that failed, and when the first of them did.
    failures     int         not null default 0,
    failing_since timestamptz,
    delivered_at timestamptz,
    -- Nothing is sent before this time.
    resume_at    timestamptz not null default clock_timestamp(),
    -- The process that sends, and until when it may.
    lease_id     uuid,
    leased_until timestamptz,
    worked_at    timestamptz,
    -- Events after `resend_from` up to `resend_until` are sent again, those up to `resend_after` already; null: none are.
    resend_from  bigint,
    resend_after bigint,
    resend_until bigint,
    unique (brand_slug, name)
);

-- One row for each try, kept for 30 days. The event itself is in the log.
create table webhook_tries (
    -- Ids rise with time.
    try_id       uuid        primary key,
    subscription text        not null references webhooks (subscription) on delete cascade,
    position     bigint      not null,
    event_id     uuid        not null,
    type         text        not null,
    number       int         not null,
    outcome      text        not null check (outcome in ('delivered', 'failed', 'given_up')),
    status       int,
    answer       text,
    problem      text,
    duration_ms  int         not null,
    tried_at     timestamptz not null default clock_timestamp()
);
create index webhook_tries_newest on webhook_tries (subscription, try_id desc);
create index webhook_tries_by_time on webhook_tries (tried_at);
