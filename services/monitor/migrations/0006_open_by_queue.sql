-- outside a transaction
-- How many wait, of which queue and about which brand, is counted again and again, and of a hundred thousand without reading one of them.
create index concurrently if not exists dead_messages_open_by_queue on dead_messages (queue, brand_slug) where state = 'open';
