-- outside a transaction
-- Articles by the documents that they cite: `sources @> '[{"path": …}]'`.
create index concurrently if not exists content_by_sources on content using gin (sources jsonb_path_ops);
