-- Who writes a brand's articles, and the words that they do without.
alter table brands
    add column writer text not null default 'extractive',
    add column forbidden_words text[] not null default '{}';
