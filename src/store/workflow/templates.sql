-- Job templates: rows of scylla.job_template_text.

-- struct Name (job_type text, version text)

-- family(names Name[], job_types text[]) -> one Family (templates text, known text, tags jsonb?, is_empty bool)
-- Templates with those that they inherit from, as an array; which of the job types have any version, as an array; the
-- names of the tags of all these templates.
with recursive family (job_type, version, definition) as (
    select t.job_type, t.version, t.definition
    from :names
    join scylla.job_template_text t on t.job_type = names.job_type and t.version = names.version
    union
    select p.job_type, p.version, p.definition
    from family f
    cross join lateral jsonb_each_text(f.definition -> 'inherit_from') i
    join scylla.job_template_text p on p.job_type = i.key and p.version = i.value
)
select coalesce(jsonb_agg(f.definition), '[]')::text as templates,
       (select coalesce(jsonb_agg(distinct t.job_type), '[]')::text
        from scylla.job_template_text t
        where t.job_type = any (:job_types)) as known,
       (select jsonb_agg(distinct case jsonb_typeof(g.tag) when 'string' then g.tag else g.tag -> 'name' end)
        from family m
        cross join lateral jsonb_array_elements(m.definition -> 'tags') g (tag)) as tags,
       count(*) = 0 as is_empty
from family f;

-- owner_of(job_type text) -> opt (owner name)
-- The role that may change the templates of a job type.
select owner from scylla.job_template_text where job_type = :job_type limit 1;

-- put(job_type text, version text, owner name, author name, definition jsonb, metadata jsonb)
insert into scylla.job_template_text (job_type, version, owner, author, definition, metadata)
values (:job_type, :version, :owner, :author,
        jsonb_strip_nulls(:definition) || jsonb_build_object('version', :version), :metadata)
on conflict (job_type, version) do update
set author = excluded.author, definition = excluded.definition, metadata = excluded.metadata,
    modified = clock_timestamp();

-- heirs(job_type text, version text) -> many Heir (job_type text, version text, distance int8)
-- The template itself first, then those that inherit from it, directly or indirectly.
with recursive heir (job_type, version, distance) as (
    select :job_type collate "C", :version collate "C", 0::int8
    union
    select t.job_type, t.version, 1::int8
    from heir h
    join scylla.job_template_text t on t.definition -> 'inherit_from' ->> h.job_type = h.version
)
select job_type, version, min(distance) as distance from heir group by 1, 2 order by 3, 1, 2;

-- remove(job_type text, version text) -> count
delete from scylla.job_template_text where job_type = :job_type and version = :version;

-- left_without(job_type text) -> opt (workflow text)
-- A workflow whose active version has a step of this job type, of which there is no template any more.
select h.id as workflow
from scylla.workflow_head h
join scylla.workflow_text t on t.workflow = h.id and t.version = h.active_version
where not exists (select from scylla.job_template_text where job_type = :job_type)
  and jsonb_path_exists(t.definition, '$.steps.**.sub_type ? (@ == $type)', jsonb_build_object('type', :job_type))
order by h.id
limit 1;
