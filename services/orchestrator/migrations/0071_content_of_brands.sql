-- outside a transaction
-- A brand's articles, the latest first, page by page. The brand is an expression, so that no plan made for a small table
-- looks a subject up among all articles of its brand: `content_by_subject_key` is for that.
create index concurrently if not exists content_of_brands on content ((brand_slug || ''), content_id);
