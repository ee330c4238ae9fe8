-- outside a transaction
create index concurrently if not exists cycles_under_way on cycles (brand_slug) where ended_at is null;
