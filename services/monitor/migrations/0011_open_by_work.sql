-- outside a transaction
create index concurrently if not exists dead_messages_open_by_work on dead_messages using gin (work_ids) where state = 'open';
