-- Whether the operator gave the address of a provider, with the service key: then it may be a private one. Accounts of before are
-- the operator's.
alter table providers add column address_of_operator boolean not null default true;
