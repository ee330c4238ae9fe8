-- outside a transaction
create index concurrently if not exists subjects_to_carry_over on subjects (brand_slug) where carried_at is distinct from claimed_at;
