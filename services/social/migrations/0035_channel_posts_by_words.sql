-- outside a transaction
-- Posts on channels by the words of their text and title, and by their brand, so that a word is looked up among one brand's posts alone.
-- No word begins with the sign before the brand. What joins two words is taken out, or the parser would make one of both. `social.post_search` has the same expression.
create index concurrently if not exists channel_posts_by_words on channel_posts using gin ((
    to_tsvector('simple', translate((material ->> 'title') || ' ' || coalesce(text, ''), '-_./@:+&%~=?#<>', '               '))
    || array_to_tsvector(array['=' || brand_slug])));
