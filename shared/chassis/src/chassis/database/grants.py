"""What the role that a process runs as may do in a database whose tables belong to somebody else.

It reads and writes rows and calls functions. It owns nothing, so it can neither change nor drop a table, nor empty one at
a stroke, nor make one: what a process needs of that kind is done by functions that run as their owner.
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
                    when relname = 'audit_log' then array['select', 'insert']
                    else array['select', 'insert', 'update', 'delete'] end as rights
        from pg_class join place on relowner = owner and relnamespace = schema
        -- A partition is reached through its table.
        where relkind in ('r', 'p', 'v', 'S') and not relispartition
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
    -- Everybody may call a new function, and some run as their owner.
    select format('revoke all on routine %1$s from public; grant execute on routine %1$s to %2$I',
                  pg_proc.oid::regprocedure, $1::name)
    from pg_proc join place on proowner = owner and pronamespace = schema
    where has_function_privilege('public', pg_proc.oid, 'execute')
       or not has_function_privilege($1::name, pg_proc.oid, 'execute')
"""
"""The statements that are still to run; none once all is as it should be."""


async def grant(connection: Connection, role: str) -> None:
    """Lets a role work with all that the connection's own role has in its schema; safe to repeat.

    The list of applied migrations it may read and not write; to the audit log it may only add.

    Raises:
        asyncpg.UndefinedObjectError: there is no such role.
        asyncpg.InsufficientPrivilegeError: the database belongs to somebody else, and the role may not connect yet.
    """
    async with connection.transaction():
        for row in await connection.fetch(_MISSING, role):
            await connection.execute(row["statement"])
