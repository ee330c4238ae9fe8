-- outside a transaction
create index concurrently if not exists calls_by_time on calls (began_at);
