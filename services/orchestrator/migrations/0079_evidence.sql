-- expand: what each sentence of a model's article rests on, and which were cut; null for a digest, whose paragraphs tell it themselves.
alter table content add column evidence jsonb;
alter table content_versions add column evidence jsonb;
