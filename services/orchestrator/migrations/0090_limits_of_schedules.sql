-- What each submission of a schedule may take: hours from its time on, and dollars. Null: as its brand says.
alter table schedules
    add column deadline_hours integer,
    add column max_cost       double precision;
