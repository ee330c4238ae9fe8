-- What the search and the tags of a site find pages by, kept by triggers, so that pages are found whichever version stores them.
-- Words are brought to their stems in the site's language, where PostgreSQL knows it.
create function search_configuration(language text) returns regconfig
    language sql immutable as $$
    select case split_part(lower(language), '-', 1)
        when 'ar' then 'arabic' when 'ca' then 'catalan' when 'da' then 'danish' when 'de' then 'german' when 'el' then 'greek'
        when 'en' then 'english' when 'es' then 'spanish' when 'eu' then 'basque' when 'fi' then 'finnish' when 'fr' then 'french'
        when 'ga' then 'irish' when 'hi' then 'hindi' when 'hu' then 'hungarian' when 'hy' then 'armenian' when 'id' then 'indonesian'
        when 'it' then 'italian' when 'lt' then 'lithuanian' when 'nb' then 'norwegian' when 'ne' then 'nepali' when 'nl' then 'dutch'
        when 'nn' then 'norwegian' when 'no' then 'norwegian' when 'pt' then 'portuguese' when 'ro' then 'romanian'
        when 'ru' then 'russian' when 'sr' then 'serbian' when 'sv' then 'swedish' when 'ta' then 'tamil' when 'tr' then 'turkish'
        when 'yi' then 'yiddish' else 'simple' end::regconfig
$$;

alter table pages
    add column topic tsvector,  -- of title, keyword (A) and headings (B)
    add column words tsvector;  -- of these, the description (C) and the text (D)

create function note_words_of_page() returns trigger language plpgsql as $$
declare
    configuration constant regconfig := search_configuration((select language from sites where brand_slug = new.brand_slug));
begin
    new.topic := setweight(to_tsvector(configuration, translate(left(new.title || ' ' || new.keyword, 2000), '<>', '')), 'A')
        || setweight(to_tsvector(configuration, coalesce(
               (select translate(left(string_agg(section ->> 'title', ' '), 10000), '<>', '') from jsonb_array_elements(new.sections) as section), '')), 'B');
    -- A list of words may come to a megabyte at most, and no page is refused for that. What looks like a tag is no word: in the text it is one.
    new.words := new.topic || setweight(to_tsvector(configuration, translate(left(new.meta_description, 2000), '<>', '')), 'C')
        || setweight(to_tsvector(configuration, left(new.body_html, 200000)), 'D');
    return new;
end
$$;

create trigger words_of_pages before insert or update of title, keyword, meta_description, body_html, sections on pages
    for each row execute function note_words_of_page();

create function note_words_of_site() returns trigger language plpgsql as $$
begin
    update pages set title = title where brand_slug = new.brand_slug;
    return null;
end
$$;

create trigger words_of_sites after update of language on sites
    for each row when (old.language is distinct from new.language) execute function note_words_of_site();
