-- What a request may take: until when, and how much money (micro-dollars). Its messages carry both.
alter table cycles
    add column deadline timestamptz,
    add column max_cost bigint,
    -- When its waiting keywords were ended because the deadline had passed.
    add column late_at  timestamptz;
-- What requests take that say nothing else: hours from the request on, and dollars.
alter table brands
    add column deadline_hours integer,
    add column max_cost       double precision;
