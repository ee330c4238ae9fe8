-- Articles are public: their sources tell no user's name and password, and a file's name is no title.
update content set sources = regexp_replace(sources::text, '("url": *"https?://)[^/?#"]*@', '\1', 'gi')::jsonb
where sources::text ~* '"url": *"https?://[^/?#"]*@';
update content set sources = (
    select coalesce(jsonb_agg(case
               when source ->> 'url' is null
                    and source ->> 'title' = regexp_replace(regexp_replace(source ->> 'path', '^.*/', ''), '\.[^.]*$', '')
               then source || '{"title": ""}' else source end order by place), '[]')
    from jsonb_array_elements(sources) with ordinality as listed (source, place)
) where sources::text like '%"path": "%';
