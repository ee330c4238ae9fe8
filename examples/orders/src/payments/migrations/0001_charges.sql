-- Nothing here keeps an order from being charged twice. The inbox does, in the transaction that writes the row.
create table charges (
    charge_id  bigint generated always as identity primary key,
    order_id   uuid not null,
    cents      integer not null,
    charged_at timestamptz not null default now()
);
