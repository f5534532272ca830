-- The publications that include tables of the schemas $1, with these tables, and with those whose updates or
-- deletes PostgreSQL rejects because they have no replica identity.
select
  publication.pubname as name,
  publication.puballtables as "isOfAll",
  array_agg(published.name order by published.name) as tables,
  coalesce(
    array_agg(published.name order by published.name) filter (
      where (publication.pubupdate or publication.pubdelete)
        and not published.identified
    ),
    '{}'
  ) as refused
from pg_publication as publication
join (
  select
    pg_publication_tables.pubname,
    format('%I.%I', schema.nspname, relation.relname) as name,
    relation.relreplident in ('f', 'i')
      or relation.relreplident = 'd'
        and exists (
          select
          from pg_index as index
          where index.indrelid = relation.oid
            and index.indisprimary
        ) as identified
  from pg_publication_tables
  join pg_namespace as schema on schema.nspname = pg_publication_tables.schemaname
  join pg_class as relation
    on relation.relnamespace = schema.oid
    and relation.relname = pg_publication_tables.tablename
  where schema.nspname = any ($1)
) as published on published.pubname = publication.pubname
group by
  publication.pubname,
  publication.puballtables,
  publication.pubupdate,
  publication.pubdelete
order by publication.pubname
