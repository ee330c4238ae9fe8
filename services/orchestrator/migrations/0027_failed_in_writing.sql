-- outside a transaction
create index concurrently if not exists keywords_failed_in_writing on keywords (content_id)
    where state = 'failed' and content_id is not null and not generated;
