-- outside a transaction
create index concurrently if not exists cycles_of_brands on cycles (brand_slug, cycle_id);
