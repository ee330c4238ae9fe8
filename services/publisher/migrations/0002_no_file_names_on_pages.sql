-- How the operator's files are called is none of the readers' business. Of a document without a title the file's name was
-- taken for one; its page calls it by its number from now on.
update pages set sources = (
    select coalesce(jsonb_agg(case
               when source ->> 'url' is null
                    and source ->> 'title' = regexp_replace(regexp_replace(source ->> 'path', '^.*/', ''), '\.[^.]*$', '')
               then source || '{"title": ""}' else source end - 'path' order by place), '[]')
    from jsonb_array_elements(sources) with ordinality as listed (source, place)
) where sources::text like '%"path"%';
