-- Only version N+1 writes it.
alter table effects add column language text;
