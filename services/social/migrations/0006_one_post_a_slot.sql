-- outside a transaction
-- A slot is one post's, whoever gives it.
create unique index concurrently if not exists channel_posts_in_slots on channel_posts (account, due_at)
    where in_queue and state = 'planned';
