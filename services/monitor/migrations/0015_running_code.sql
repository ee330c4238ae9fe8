-- The code that failed: a hash of its source and its version, as the service wrote them; null if it wrote none.
alter table dead_messages add column code text;
alter table dead_messages add column version text;
