"""Grants rights to the runtime role of a process, in a database with tables of another role.

The runtime role reads and writes rows and calls functions. It owns nothing, so it cannot create, change, drop or truncate
tables; functions that run as their owner do what a process needs of that kind.
"""

from typing import Final

from chassis.database.pool import Connection

_MISSING: Final = """
    with place as (
        select oid as schema, current_user::regrole as owner from pg_namespace where nspname = current_schema()
    ), class as (
        select pg_class.oid, relkind,
               case when relkind = 'S' then array['usage']
                    when relname = 'schema_migrations' then array['select']
                    when relname = 'audit_log' then array['select']
                    else array['select', 'insert', 'update', 'delete'] end as rights
        from pg_class join place on relowner = owner and relnamespace = schema
        -- Partitions are accessed through their table.
        where relkind in ('r', 'p', 'v', 'S') and not relispartition
          -- Inserts need no right to the sequence; with one, a role could leave gaps.
          and not (relkind = 'S' and exists (
              select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'i'
                and refobjid = to_regclass(quote_ident(current_schema()) || '.audit_log')))
    ), audit_log as (
        -- Only the database sets number and time of its rows.
        select pg_class.oid, string_agg(quote_ident(attname), ', ' order by attnum) filter (where not by_itself) as given,
               bool_or(by_itself and has_column_privilege($1::name, pg_class.oid, attnum, 'insert')) as too_much,
               bool_and(by_itself or has_column_privilege($1::name, pg_class.oid, attnum, 'insert')) as enough,
               pg_get_serial_sequence(min(pg_class.oid::regclass::text), 'id') as sequence
        from pg_class join place on relowner = owner and relnamespace = schema
        join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
        cross join lateral (select attname in ('id', 'at') as by_itself) as column_of
        where relname = 'audit_log' and relkind = 'r'
        group by pg_class.oid
    )
    select format('grant connect on database %I to %I', datname, $1::name) as statement
    from pg_database
    where datname = current_database()
      and not exists (select from aclexplode(datacl) where grantee = to_regrole(quote_ident($1::name)) and privilege_type = 'CONNECT')
    union all
    select format('grant usage on schema %I to %I', current_schema(), $1::name)
    where not has_schema_privilege($1::name, current_schema(), 'usage')
    union all
    select format('grant %s on %s %s to %I', array_to_string(rights, ', '),
                  case relkind when 'S' then 'sequence' else 'table' end, oid::regclass, $1::name)
    from class
    where exists (
        select from unnest(rights) as wanted
        where not case relkind when 'S' then has_sequence_privilege($1::name, oid, wanted)
                               else has_table_privilege($1::name, oid, wanted) end
    )
    union all
    select format('revoke insert on table %1$s from %2$I; grant insert (%3$s) on table %1$s to %2$I',
                  oid::regclass, $1::name, given)
    from audit_log
    where too_much or not enough
    union all
    select format('revoke all on sequence %s from %I', sequence, $1::name)
    from audit_log
    where has_sequence_privilege($1::name, sequence, 'usage')
    union all
    -- By default every role may call a new function, and some run as their owner.
    select format('revoke all on routine %1$s from public; grant execute on routine %1$s to %2$I',
                  pg_proc.oid::regprocedure, $1::name)
    from pg_proc join place on proowner = owner and pronamespace = schema
    where has_function_privilege('public', pg_proc.oid, 'execute')
       or not has_function_privilege($1::name, pg_proc.oid, 'execute')
"""
"""Lists the statements that are still to run; none if all grants are in place."""


async def grant(connection: Connection, role: str) -> None:
    """Grant a role access to everything that the connection's own role has in its schema; safe to repeat.

    The role may only read the list of applied migrations, and only insert into the audit log, without its `id` and `at`.

    Raises:
        asyncpg.UndefinedObjectError: there is no such role.
        asyncpg.InsufficientPrivilegeError: another role owns the database, and the role may not connect yet.
    """
    async with connection.transaction():
        for row in await connection.fetch(_MISSING, role):
            await connection.execute(row["statement"])
