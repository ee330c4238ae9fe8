-- What was written before versions were kept. After the trigger has begun its work, and without keeping it from that.
insert into content_versions (content_id, version, slug, title, meta_description, body_markdown, word_count, key_points,
                              label, sources, measures, made_by, why, made_at)
select content_id, 1, replace(slug, '-' || content_id, ''), title, meta_description, body_markdown, word_count, key_points,
       label, sources, measures, 'writer', 'written from research', created_at
from content
on conflict do nothing;
