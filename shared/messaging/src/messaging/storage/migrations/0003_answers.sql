-- Answers to requests that have a name (Idempotency-Key), in the transaction of what was done for them, for a day.
create table kept_answers (
    -- Id of the caller's key.
    caller      text        not null,
    path        text        not null,
    key         text        not null,
    -- SHA-256 of method, path, query and body.
    fingerprint bytea       not null,
    status      int         not null,
    headers     jsonb       not null,
    body        bytea       not null,
    answered_at timestamptz not null default now(),
    primary key (caller, path, key)
);
create index kept_answers_by_age on kept_answers (answered_at);
