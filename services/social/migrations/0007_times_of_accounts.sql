-- outside a transaction
create index concurrently if not exists channel_posts_times on channel_posts (account, due_at) where account is not null;
