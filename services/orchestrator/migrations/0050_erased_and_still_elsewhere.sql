-- What an erased brand still has on sites and accounts of others, for whoever takes it away there. The addresses are forgotten after 30 days.
alter table erasure_receipts
    add column elsewhere text[] not null default '{}',
    add column elsewhere_count bigint not null default 0;
