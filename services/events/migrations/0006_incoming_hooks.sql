-- Incoming webhooks: other systems send what a brand's definition turns into a command.
create table incoming_hooks (
    hook_id      uuid        primary key,
    brand_slug   text        not null,
    name         text        not null,
    -- How senders prove who they are: `standard`, `github` or `path`.
    kind         text        not null check (kind in ('standard', 'github', 'path')),
    -- What signatures are made with; of `path`, the SHA-256 of the secret.
    secret       text        not null,
    former_secret text,
    -- Until when the former secret is valid, too.
    former_until timestamptz,
    rotated_at   timestamptz,
    -- What arrives becomes: {type, data, when, events}.
    definition   jsonb       not null,
    created_by   text        not null,
    created_at   timestamptz not null default clock_timestamp(),
    unique (brand_slug, name)
);

-- What arrived. Of what was turned into a command, the id is kept for 30 days, so that it is not taken twice.
create table hook_arrivals (
    -- Ids rise with time.
    arrival_id   uuid        primary key,
    hook_id      uuid        not null references incoming_hooks on delete cascade,
    -- The sender's id, and the SHA-256 of the body; null of what was refused at the door.
    sender_id    text,
    body_digest  bytea,
    -- `waiting`: for the orchestrator; `done`; `ignored`: by the definition; `refused`: `code` and `detail` say why.
    state        text        not null check (state in ('waiting', 'done', 'ignored', 'refused')),
    -- The command's data.
    data         jsonb,
    code         text,
    detail       text,
    -- Path of what the command made or changed.
    location     text,
    attempts     int         not null default 0,
    due_at       timestamptz not null default clock_timestamp(),
    -- A process is handing it over until then, unless it died.
    claimed_until timestamptz,
    received_at  timestamptz not null default clock_timestamp(),
    unique (hook_id, sender_id)
);
create index hook_arrivals_newest on hook_arrivals (hook_id, arrival_id desc);
create index hook_arrivals_by_body on hook_arrivals (hook_id, body_digest) where body_digest is not null;
create index hook_arrivals_due on hook_arrivals (due_at) where state = 'waiting';
create index hook_arrivals_by_time on hook_arrivals (received_at);
