-- How often the frequent words of a corpus occur, so that a search counts rare words alone.
alter table collections add column frequent_words jsonb, add column passages bigint;
comment on column collections.frequent_words is '{"kernel": 6201}: the passages of each word that many have; null: not counted yet';
comment on column collections.passages is 'of all documents, counted with it';
