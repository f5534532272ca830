-- Marks a value for which the planner should use an index.

-- The high cost, and plpgsql, which the planner cannot inline, make the planner read an index on the value,
-- in index order. If it expects many rows it would otherwise scan all rows in order and filter them until a
-- page is full. For a market without recent trades that is the whole history. If it expects few, it would
-- fetch and sort them all, which for a busy market is a large part of it.
create function dex_private.sought(value anyelement) returns anyelement
language plpgsql stable parallel safe
cost 10000
as $$
begin
  return value;
end
$$;
comment on function dex_private.sought(anyelement) is 'Returns the value, and makes the planner look it up in an index.';
grant execute on function dex_private.sought(anyelement) to dex_reader, dex_writer;
