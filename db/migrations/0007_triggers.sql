-- What is decided when a run is asked for by hand: rates, and how many runs may wait.

-- Triggers that made a run, by what their rates count: dag:ID, tenant:NAME, caller:NAME.
create table app.trigger_hit (
  key text not null,
  at  timestamptz not null
);
create index trigger_hit_at on app.trigger_hit (key, at desc);
alter table app.trigger_hit set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- How many runs of a DAG wait for their place, and how many of a tenant; those of paused DAGs that are held are left out.
create function app.runs_waiting(p_dag text) returns integer language sql stable as $$
  select count(*)::integer from app.lease l where l.account = 'runs:' || p_dag and l.granted_at is null and not l.held
$$;
create function app.tenant_runs_waiting(p_tenant text) returns integer language sql stable as $$
  select count(*)::integer from app.dag_run r join app.lease l on l.run = r.run and l.task_id = ''
  where r.state = 'queued' and r.tenant = p_tenant and l.granted_at is null and not l.held
$$;

-- As app.create_runs, for runs by hand with bounds: `rates` is a list of {key, triggers, within_ms}, `most` is what may wait,
-- {dag, tenant, tenant_name}. One that is over a bound is not made, and `refused` says which: {rule: rate, key, triggers,
-- within_ms, again_ms} or {rule: queued, of, name, waiting, most}. What makes no run (it is there already) is never refused,
-- and costs nothing. Callers of the same keys come one after the other, in every process, so the counts are exact.
-- Measured: 50 triggers in a call take 10 to 15 ms in app.create_runs, 16 to 21 here; 19 to 22 with 10,000 hits in the window.
create function app.trigger_runs(p jsonb)
returns table (dag_id text, run_id text, run bigint, created boolean, own boolean, granted boolean, grants jsonb, undecided boolean,
               standing jsonb, refused jsonb)
language plpgsql as $$
declare
  r record;
  q record;
  v_now timestamptz;
  v_keys text[];
  v_key text;
  v_taken jsonb := '{}';
  v_seen text[] := '{}';
  v_known jsonb := '{}';
  v_from timestamptz;
  v_pass jsonb := '[]';
  v_at integer[] := '{}';
  v_refused jsonb[] := '{}';
  v_refusal jsonb;
  v_free_at timestamptz;
  v_ahead integer;
  v_waiting integer;
  v_free integer;
begin
  -- Before the allocator is shared (in app.create_runs): who waits for a key here holds up nobody there.
  select array_agg(distinct k.key) into v_keys
  from jsonb_to_recordset(p) as x(dag_id text, rates jsonb, most jsonb)
  cross join lateral (
    select t ->> 'key' as key from jsonb_array_elements(x.rates) as t
    union all select 'runs:' || x.dag_id where x.most ? 'dag'
    union all select 'runs of ' || (x.most ->> 'tenant_name') where x.most ? 'tenant'
  ) k;
  perform app.lock_accounts(75, v_keys);
  v_now := app.now();

  for r in
    select x.value as row, x.value ->> 'dag_id' as dag_id, (x.value ->> 'logical_at')::timestamptz as logical_at, x.value -> 'most' as most
    from jsonb_array_elements(p) with ordinality as x(value, n) order by x.n
  loop
    v_refusal := null;
    v_key := r.dag_id || ' ' || r.logical_at;
    if v_key <> all (v_seen) and not exists (
      select from app.run_key k where k.dag_id = r.dag_id and k.logical_at = r.logical_at and k.fork = 0)
    then
      for q in select * from jsonb_to_recordset(r.row -> 'rates') as x(key text, triggers integer, within_ms double precision) loop
        v_ahead := coalesce((v_taken ->> q.key)::integer, 0);
        v_from := v_now - make_interval(secs => q.within_ms / 1000);
        -- A window may hold thousands, and a call many of one key: they are counted once.
        v_key := q.key || ' ' || q.triggers || ' ' || q.within_ms;
        if not v_known ? v_key then
          select v_known || jsonb_build_object(v_key, q.triggers - count(*)) into v_known from (
            select from app.trigger_hit h where h.key = q.key and h.at > v_from order by h.at desc limit q.triggers) n;
        end if;
        continue when v_ahead < (v_known ->> v_key)::integer;
        -- The one that has to leave the window first; of this call alone, all of it.
        v_key := v_key || ' again ' || v_ahead;
        if not v_known ? v_key then
          v_free_at := null;
          if q.triggers > v_ahead then
            select h.at + (v_now - v_from) into v_free_at from app.trigger_hit h where h.key = q.key and h.at > v_from
            order by h.at desc offset q.triggers - v_ahead - 1 limit 1;
          end if;
          v_known := v_known || jsonb_build_object(v_key, coalesce(v_free_at, v_now + (v_now - v_from)));
        end if;
        v_free_at := (v_known ->> v_key)::timestamptz;
        if v_refusal is null or extract(epoch from v_free_at - v_now) * 1000 > (v_refusal ->> 'again_ms')::double precision then
          v_refusal := jsonb_build_object('rule', 'rate', 'key', q.key, 'triggers', q.triggers, 'within_ms', q.within_ms,
                                          'again_ms', extract(epoch from v_free_at - v_now) * 1000);
        end if;
      end loop;

      -- It takes a place that is free, or it waits behind those that do.
      v_ahead := coalesce((v_taken ->> ('runs:' || r.dag_id))::integer, 0);
      if v_refusal is null and r.most is not null then
        v_key := 'places of ' || r.dag_id;
        if not v_known ? v_key then
          v_waiting := app.runs_waiting(r.dag_id);
          v_known := v_known || jsonb_build_object(v_key, case when v_waiting > 0 then -v_waiting else (
            select greatest(coalesce(max(a.slots), 0) - coalesce((select sum(l.slots) from app.lease l
                     where l.account = 'runs:' || r.dag_id and l.granted_at is not null), 0), 0)
            from app.account a where a.key = 'runs:' || r.dag_id) end);
        end if;
        v_free := greatest((v_known ->> v_key)::integer, 0);
        v_waiting := greatest(-(v_known ->> v_key)::integer, 0);
        if v_ahead >= v_free then
          v_waiting := v_waiting + v_ahead - v_free;
          if v_waiting >= (r.most ->> 'dag')::integer then
            v_refusal := jsonb_build_object('rule', 'queued', 'of', 'dag', 'name', r.dag_id, 'waiting', v_waiting, 'most', r.most -> 'dag');
          elsif r.most ? 'tenant' then
            v_key := 'runs of ' || (r.most ->> 'tenant_name');
            v_waiting := app.tenant_runs_waiting(r.most ->> 'tenant_name') + coalesce((v_taken ->> v_key)::integer, 0);
            if v_waiting >= (r.most ->> 'tenant')::integer then
              v_refusal := jsonb_build_object('rule', 'queued', 'of', 'tenant', 'name', r.most -> 'tenant_name', 'waiting', v_waiting,
                                              'most', r.most -> 'tenant');
            else
              v_taken := v_taken || jsonb_build_object(v_key, coalesce((v_taken ->> v_key)::integer, 0) + 1);
            end if;
          end if;
        end if;
      end if;

      if v_refusal is null then
        v_taken := v_taken || jsonb_build_object('runs:' || r.dag_id, v_ahead + 1) || coalesce((
          select jsonb_object_agg(k.key, coalesce((v_taken ->> k.key)::integer, 0) + 1)
          from (select distinct t ->> 'key' as key from jsonb_array_elements(r.row -> 'rates') as t) k), '{}');
        v_seen := v_seen || (r.dag_id || ' ' || r.logical_at);
      end if;
    end if;
    v_refused := array_append(v_refused, v_refusal);
    v_at := v_at || case when v_refusal is null then jsonb_array_length(v_pass) + 1 end;
    if v_refusal is null then v_pass := v_pass || jsonb_build_array(r.row); end if;
  end loop;

  return query
  with made as materialized (
    select * from app.create_runs(v_pass) with ordinality as m(dag_id, run_id, run, created, own, granted, grants, undecided, standing, n)
  ), hits as (
    insert into app.trigger_hit (key, at)
    select distinct on (m.run, t ->> 'key') t ->> 'key', v_now
    from made m cross join lateral jsonb_array_elements(v_pass -> (m.n::integer - 1) -> 'rates') as t
    where m.created
  )
  select coalesce(m.dag_id, p -> (a.n::integer - 1) ->> 'dag_id'), coalesce(m.run_id, p -> (a.n::integer - 1) ->> 'run_id'), m.run,
         coalesce(m.created, false), coalesce(m.own, false), coalesce(m.granted, false), m.grants, coalesce(m.undecided, false), m.standing, a.refused
  from unnest(v_at, v_refused) with ordinality as a(at, refused, n) left join made m on m.n = a.at
  order by a.n;
end $$;
