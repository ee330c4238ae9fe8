-- Only the owner of a table may gather its statistics, and the service runs as a role that owns nothing.
select set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

create function describe_index_to_planner() returns void
    language plpgsql security definer set search_path from current
as $$
begin
    analyze documents, passages;
end
$$;
