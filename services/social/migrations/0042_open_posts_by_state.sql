-- outside a transaction
-- Posts that are not out, to be counted by brand, state, channel and account in the index alone.
create index concurrently if not exists channel_posts_open_by_state on channel_posts (brand_slug, state) include (channel, entry, account)
    where state in ('new', 'waiting', 'planned', 'sending', 'in_doubt', 'failed');
