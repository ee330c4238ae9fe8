create table gates (
    account      text primary key,
    next_at      timestamptz not null default '-infinity',
    failures     integer not null default 0,
    closed_until timestamptz,
    closed_why   text
);
comment on table gates is 'how much each account of a provider may be asked now, by all replicas together';
comment on column gates.next_at is 'when the next request would be due if all had come evenly';
comment on column gates.failures is 'in a row; after some of them nobody asks until closed_until, then one does';

create table gate_turns (
    account  text not null,
    brand    text not null,
    next_at  timestamptz not null default '-infinity',
    asked_at timestamptz not null default clock_timestamp(),
    primary key (account, brand)
);
comment on table gate_turns is 'the same for each brand, which shares an account with those that asked lately';
