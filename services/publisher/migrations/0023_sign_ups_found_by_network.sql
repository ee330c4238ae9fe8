-- outside a transaction
create index concurrently if not exists newsletter_sign_ups_by_network on newsletter_sign_ups (network_digest, at) where network_digest is not null;
