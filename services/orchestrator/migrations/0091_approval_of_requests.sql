-- Whether a person approves each article of a request, whatever its brand's setting says; null: as the brand says.
alter table cycles add column approval text;
