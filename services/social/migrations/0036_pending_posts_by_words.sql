-- outside a transaction
-- Posts under review by their words and brand, as channel_posts_by_words.
create index concurrently if not exists pending_posts_by_words on pending_posts using gin ((
    to_tsvector('simple', translate(title || ' ' || text, '-_./@:+&%~=?#<>', '               '))
    || array_to_tsvector(array['=' || brand_slug])));
