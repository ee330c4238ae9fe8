-- Money is in whole micro-dollars: a millionth of a dollar.
create table spend (
    scope    text not null,
    period   text not null check (period in ('day', 'month')),
    begins   date not null,
    reserved bigint not null default 0 check (reserved >= 0),
    spent    bigint not null default 0 check (spent >= 0),
    primary key (scope, period, begins)
);
comment on table spend is 'what each brand, and all of them together (scope *), has spent and set aside in each period of UTC';

create table caps (
    scope       text primary key,
    day         bigint check (day >= 0),
    month       bigint check (month >= 0),
    stopped_at  timestamptz,
    stopped_why text
);
comment on table caps is 'what an operator has set, instead of the settings; scope * is all brands together';
comment on column caps.stopped_at is 'since when nothing is spent there';

create table calls (
    id          uuid primary key default gen_random_uuid(),
    fingerprint bytea not null,
    brand       text not null,
    provider    text not null,
    subject     text not null,
    state       text not null check (state in ('reserved', 'sent', 'settled', 'released', 'presumed')),
    maximum     bigint not null check (maximum >= 0),
    spent       bigint not null default 0 check (spent >= 0),
    usage       jsonb not null default '{}',
    day         date not null,
    began_at    timestamptz not null default clock_timestamp(),
    lease_until timestamptz not null,
    ended_at    timestamptz,
    outcome     jsonb
);
comment on table calls is 'the ledger: every call that may cost something, and its answer for as long as that is kept';
comment on column calls.fingerprint is 'of all that makes two calls the same one';
comment on column calls.day is 'the day of UTC that it is charged to';
comment on column calls.lease_until is 'after that, whoever made the call is taken for dead';
comment on column calls.state is
    'presumed: sent by a process that died before it heard the answer, and so counted as spent at its maximum';
comment on column calls.outcome is 'the answer, or the problem; null once it is no longer kept';

create unique index calls_one_at_a_time on calls (fingerprint) where state in ('reserved', 'sent');
create index calls_answered on calls (fingerprint, ended_at) where state = 'settled' and outcome is not null;
create index calls_open on calls (lease_until) where state in ('reserved', 'sent');
create index calls_ended on calls (ended_at);
create index calls_of_brands on calls (brand, began_at);

create table idempotency_keys (
    brand       text not null,
    key         text not null,
    fingerprint bytea not null,
    began_at    timestamptz not null default clock_timestamp(),
    primary key (brand, key)
);
create index idempotency_keys_by_age on idempotency_keys (began_at);
comment on table idempotency_keys is 'what each key of a caller was first used for';
