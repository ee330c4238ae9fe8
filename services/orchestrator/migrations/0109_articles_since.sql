-- outside a transaction
-- A brand's articles of the last days: few, and found without a look at all others. The brand is an expression, as in `content_of_brands`.
create index concurrently if not exists content_by_creation on content ((brand_slug || ''), created_at);
