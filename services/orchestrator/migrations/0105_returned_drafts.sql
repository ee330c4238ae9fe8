-- outside a transaction
create index concurrently if not exists content_returned on content (content_id) where decision = 'returned';
