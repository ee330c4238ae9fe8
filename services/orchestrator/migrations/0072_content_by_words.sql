-- outside a transaction
-- Articles by the words of their title and keyword, and by their brand, so that a word is looked up among one brand's articles alone.
-- No word begins with the sign before the brand. What joins two words is taken out, or the parser would make one of both. `orchestrator.writing.article_search` has the same expression.
create index concurrently if not exists content_by_words on content using gin ((
    to_tsvector('simple', translate(title || ' ' || keyword, '-_./@:+&%~=?#<>', '               '))
    || array_to_tsvector(array['=' || brand_slug])));
