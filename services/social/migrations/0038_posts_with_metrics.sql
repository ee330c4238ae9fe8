-- Whether metrics of the post were ever asked for: the page of them reads these posts, and not all of the brand.
alter table channel_posts add column has_metrics boolean not null default false;
update channel_posts as p set has_metrics = true
where exists (select from reach_looks as l where l.post_id = p.post_id) or exists (select from reach as r where r.post_id = p.post_id);
