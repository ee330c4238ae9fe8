-- Who wrote a text goes along with it, where the text says so.
alter table documents add column author text;
alter table sources add column author text;
