-- Events that were sent before this version may never have come to the queue of the log, which is younger than the ledger: none of
-- them is to count as missing. So its routes begin in ten minutes, when the queue is there. The monitor's own record has places of
-- another form.
insert into ledger_sources (sender, queue, place)
select distinct sender, 'event-log',
       case when sender = 'monitor' then to_char((now() + interval '10 minutes') at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00 0"')
            else (extract(epoch from now() + interval '10 minutes') * 1000000)::bigint || '-0' end
from ledger_sources
on conflict do nothing;
