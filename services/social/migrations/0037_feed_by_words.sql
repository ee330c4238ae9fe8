-- outside a transaction
-- Posts of the feed by their words and brand, as channel_posts_by_words.
create index concurrently if not exists posts_by_words on posts using gin ((
    to_tsvector('simple', translate(title || ' ' || text, '-_./@:+&%~=?#<>', '               '))
    || array_to_tsvector(array['=' || brand_slug])));
