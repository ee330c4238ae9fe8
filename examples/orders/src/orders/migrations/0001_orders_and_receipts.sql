create table orders (
    order_id  uuid primary key,
    email     text not null,
    cents     integer not null,
    state     text not null default 'placed' check (state in ('placed', 'paid', 'declined')),
    placed_at timestamptz not null default now()
);

-- The intent to send a mail: armed before it is sent, confirmed together with the message that asked for it.
create table receipts (
    order_id     uuid primary key,
    email        text not null,
    cents        integer not null,
    armed_at     timestamptz not null default now(),
    confirmed_at timestamptz
);
