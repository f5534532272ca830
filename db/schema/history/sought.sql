-- A value that rows are sought by.

-- It is told to be dear, and not to be read into a query, so that the planner looks for it in an index
-- and reads that in its order. Where it takes rows to be many it would rather compare it with all of them
-- in their order, until a page has it, which of a market that trades no more is the whole history; where it
-- takes them to be few, it would rather sort them all, which of a busy one are as many.
create function dex_private.sought(value anyelement) returns anyelement
language plpgsql stable parallel safe
cost 10000
as $$
begin
  return value;
end
$$;
comment on function dex_private.sought(anyelement) is 'The same value, for the planner to look for in an index.';
grant execute on function dex_private.sought(anyelement) to dex_reader, dex_writer;
