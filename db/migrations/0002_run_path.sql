-- The path of a run: each function is one round trip and carries all that its caller has in hand.

-- Outputs come and go as texts of JSON, for their keys to keep their order.
-- What runs decided: events, tries, cells; the slots of ended tries come back. The run's word is final for a try.
create function app.settle(p jsonb) returns void language plpgsql as $$
begin
  if p is null or jsonb_array_length(p) = 0 then return; end if;

  insert into app.task_event (run, seq, task_id, map_index, try, state, detail)
  select r.run, r.seq, r.task_id, r.map_index, r.try, r.state,
         case when r.try_state is not null then jsonb_build_object('try', r.try_state) end
  from jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text, try_state text)
  on conflict do nothing;

  insert into app.task_try as t (run, task_id, map_index, try, state, ended_at, error, output)
  select r.run, r.task_id, r.map_index, r.try, r.try_state, app.now(), r.error, r.output::json
  from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, try_state text, error jsonb, output text)
  where r.try_state is not null
  order by r.run, r.task_id, r.map_index, r.try
  on conflict on constraint task_try_pkey do update
    set state = excluded.state, ended_at = coalesce(t.ended_at, excluded.ended_at),
        error = coalesce(excluded.error, t.error), output = coalesce(excluded.output, t.output)
    where t.state is distinct from excluded.state or t.ended_at is null;

  insert into app.cell as c (run, task_id, map_index, state, try, phase, seq, ended_at)
  select distinct on (r.run, r.task_id, r.map_index) r.run, r.task_id, r.map_index, r.state, r.try,
         -- Of a try that waits: it may be queued once more.
         case when r.state = 'deferred' then -1 else 3 end, r.seq,
         -- When its body ended, not when the run heard of it.
         case when r.state not in ('none', 'deferred') then coalesce((
           select e.ended_at from app.task_try e
           where r.try_state is not null and e.run = r.run and e.task_id = r.task_id and e.map_index = r.map_index and e.try = r.try
         ), app.now()) end
  from jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text, try_state text)
  order by r.run, r.task_id, r.map_index, r.seq desc
  on conflict on constraint cell_pkey do update
    set state = excluded.state, try = excluded.try, phase = excluded.phase, seq = excluded.seq,
        ended_at = case when c.try = excluded.try and excluded.ended_at is not null then coalesce(c.ended_at, excluded.ended_at)
                        else excluded.ended_at end,
        -- It is to run again: nothing of it has happened yet.
        -- Nor of another try than the one it was at.
        queued_at = case when excluded.state <> 'none' and excluded.try = c.try then c.queued_at end,
        started_at = case when excluded.state <> 'none' and excluded.try = c.try then c.started_at end,
        -- Its item may be another one then.
        label = case when excluded.state <> 'none' then c.label end
    where excluded.seq > c.seq;

  -- A mapped task that was shown as a whole gives way to its instances. One that its run's version does not have stays.
  delete from app.cell c
  using jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, state text, gone boolean)
  where r.state = 'removed' and r.map_index = -1 and r.gone is not true and c.run = r.run and c.task_id = r.task_id and c.map_index = -1
    and c.state = 'removed';

  -- Also what was asked ahead for a task that now never runs (record_tries).
  delete from app.lease as l
  using jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, state text, try_state text)
  where l.run = r.run and l.task_id = r.task_id and l.map_index = r.map_index and r.task_id <> ''
    and (l.try = r.try or r.try_state is null)
    -- Of a try that waits: not the slot that it has asked for since.
    and (r.state <> 'deferred' or l.wait < (
      select max(w.wait) from app.wait w
      where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try));

  -- Nothing waits any more for a try that has ended, or for those before it; the run knows.
  update app.wait as w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, state text)
  where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try <= r.try
    and r.state <> 'deferred' and not w.known;

  -- A wait that has run out is told of, once.
  if p @> '[{"try_state": "timed_out"}]' then
    insert into app.alert (run, task_id, map_index, try, kind, message)
    select r.run, r.task_id, r.map_index, r.try, r.error ->> 'code', coalesce(r.error ->> 'message', '')
    from jsonb_to_recordset(p) as r(run bigint, task_id text, map_index integer, try integer, try_state text, error jsonb)
    where r.try_state = 'timed_out' and r.error ->> 'code' = 'wait_timeout'
    on conflict do nothing;
  end if;

  -- A recorded success that the run never heard of (its worker was killed in between) is no success: what was asked for
  -- ahead on its strength gives the slot back, or the next try could wait for ever behind its own successor.
  with dropped as (
    delete from app.lease as l
    using jsonb_to_recordset(p) as r(run bigint, seq integer, task_id text, map_index integer, try integer, state text)
    where l.run = r.run and l.after is not null and r.task_id = any (l.after) and r.state <> 'success'
      -- Not by a repeat that comes late: the run has decided more since.
      and exists (select from app.cell u
        where u.run = r.run and u.task_id = r.task_id and u.map_index = r.map_index and u.try = r.try and u.seq = r.seq)
    returning l.run, l.task_id, l.map_index, l.try
  )
  delete from app.cell c using dropped d
  where c.run = d.run and c.task_id = d.task_id and c.map_index = d.map_index and c.try = d.try and c.phase = 0;
end $$;

-- Who grants has the allocator to itself for these accounts until its transaction ends; others go on. A pass over all
-- accounts takes (72, 2) alone, so callers share it, before they touch any row that a pass may want.
-- p_class: 73 for the places of runs, 74 for pools; who needs both takes 73 first, and each class in one order.
create function app.share_allocator() returns void language sql as $$ select pg_advisory_xact_lock_shared(72, 2) $$;
create function app.lock_accounts(p_class integer, p_accounts text[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(p_class, k.key)
  from (select distinct hashtext(a) as key from unnest(p_accounts) as a order by 1) k;
end $$;

-- Grants what is free, in the allocator's own order (core/allocate.ts): highest priority, then first come; a head
-- that does not fit holds up those behind it, one that never can is passed over. At most `free` heads are read, so
-- the cost does not grow with the queue. Accounts with a waiting request that draws on limits as well, or is of another class
-- than the standard one, are left to a pass, and so are all under the emergency dial.
-- The caller holds the locks of these accounts (app.lock_accounts).
-- `undecided`: a request is left that no pass has given a reason yet.
create function app.grant_free(p_accounts text[], p_tell_after interval, out granted integer, out undecided boolean)
language plpgsql as $$
begin
  with account as (
    select a.key, a.slots, a.slots - coalesce((select sum(l.slots) from app.lease l where l.account = a.key and l.granted_at is not null), 0) as free
    from app.account a where a.key = any (p_accounts)
      -- Places of runs are no concern of the dial.
      and (a.key like 'runs:%' or not exists (select from app.dial_in_force()))
      and not exists (select from app.lease w
        where w.account = a.key and w.granted_at is null and not w.held and (w.limits > '{}' or (w.limits = '{}' and w.class <> 1)))
  ), waiting as (
    select l.run, l.task_id, l.map_index, l.try, l.account, a.free,
           sum(l.slots) over (partition by l.account order by l.priority desc, l.seq) as upto
    from account a cross join lateral (
      select * from app.lease w
      where w.account = a.key and w.limits = '{}' and w.class = 1 and w.granted_at is null and not w.held and w.slots <= a.slots
      order by w.priority desc, w.seq limit greatest(a.free, 0) + 1
    ) l
  ), picked as (
    -- One that is locked is being deleted: who does that looks for whom its slots are.
    select l.run, l.task_id, l.map_index, l.try from app.lease l join waiting w using (run, task_id, map_index, try)
    where l.granted_at is null and w.upto <= w.free for update of l skip locked
  )
  update app.lease as l
  set granted_at = app.now(), reason = null, reason_since = null,
      tell_after = app.now() + p_tell_after
  from picked w
  where l.run = w.run and l.task_id = w.task_id and l.map_index = w.map_index and l.try = w.try and l.granted_at is null;
  get diagnostics granted = row_count;

  select exists (select from app.lease l
                 where l.account = any (p_accounts) and l.granted_at is null and not l.held and l.reason is null) into undecided;
end $$;

-- Grants what came free to those who wait for a pool or a place alone, in one round trip. `rest`: somebody else waits, or
-- has no reason yet: a pass is wanted.
create function app.quick_pass(out granted integer, out rest boolean) language plpgsql as $$
declare
  v_accounts text[];
  v_more integer;
  v_undecided boolean;
begin
  granted := 0;
  rest := false;
  perform app.share_allocator();
  with recursive waiting as (
    (select account from app.lease where granted_at is null and not held order by account limit 1)
    union all
    select (select l.account from app.lease l where l.granted_at is null and not l.held and l.account > w.account order by l.account limit 1)
    from waiting w where w.account is not null
  )
  select array_agg(w.account) into v_accounts from waiting w where w.account is not null;
  if v_accounts is null then return; end if;
  -- PostgreSQL keeps some thousands of locks at once: with more accounts a pass decides.
  if cardinality(v_accounts) > 1000 then
    rest := true;
    return;
  end if;
  perform app.lock_accounts(73, array(select a from unnest(v_accounts) as a where a like 'runs:%'));
  perform app.lock_accounts(74, array(select a from unnest(v_accounts) as a where a not like 'runs:%'));
  select g.granted, g.undecided into granted, rest
  from app.grant_free(array(select a from unnest(v_accounts) as a where a like 'runs:%'), interval '0') g;
  -- A run's own call usually takes its grants within this time; then the outbox tells it.
  select g.granted, g.undecided into v_more, v_undecided
  from app.grant_free(array(select a from unnest(v_accounts) as a where a not like 'runs:%'), interval '20 milliseconds') g;
  granted := granted + v_more;
  rest := rest or v_undecided or exists (select from app.dial_in_force()) or exists (
    select from unnest(v_accounts) as k(key)
    where exists (select from app.lease w where w.account = k.key and w.granted_at is null and not w.held and w.limits > '{}')
       or exists (select from app.lease w where w.account = k.key and w.limits = '{}' and w.class <> 1 and w.granted_at is null and not w.held));
end $$;

-- The accounts beside its pool that a try draws on, in order: those that exist of its DAG's active tasks, of its own tries
-- over all runs, of its tenant and that one's cohort, and of what runs by hand may take of the pool.
create function app.limits_of(p_run app.dag_run, p_task text, p_account text) returns text[] language sql stable as $$
  select coalesce(array_agg(k.key order by k.key), '{}') from (
    select a.key from app.account a
    where a.key in ('tasks:' || p_run.dag_id, 'task:' || p_run.dag_id || ':' || p_task, 'tenant:' || p_run.tenant,
                    case when p_run.run_type = 'manual' then 'adhoc:' || substr(p_account, 6) end)
    union all
    select 'cohort:' || t.cohort from app.account t
    where t.key = 'tenant:' || p_run.tenant and t.cohort is not null
  ) k
$$;
-- What is taken of a limit: one place for each try of a DAG's or a task's, else slots.
create function app.limits_used(p_keys text[]) returns table (key text, used integer) language sql stable as $$
  select k.key, sum(case when k.key like 'task%' then l.tries else l.slots end)::integer
  from (
    select limits, count(*) as tries, sum(slots) as slots from app.lease
    where granted_at is not null and limits <> '{}' and limits && p_keys group by limits
  ) l cross join unnest(l.limits) as k(key)
  where k.key = any (p_keys) group by k.key
$$;
-- What a pass would set aside of a limit for those that wait for pools: the next one of each set of accounts that draws on it.
create function app.limit_kept(p_key text) returns integer language sql stable as $$
  with recursive lane as (
    (select account, limits, class, slots from app.lease where granted_at is null and not held
     order by account, limits, class, priority desc, seq limit 1)
    union all
    select n.account, n.limits, n.class, n.slots from lane w cross join lateral (
      select l.account, l.limits, l.class, l.slots from app.lease l
      where l.granted_at is null and not l.held and (l.account, l.limits, l.class) > (w.account, w.limits, w.class)
      order by l.account, l.limits, l.class, l.priority desc, l.seq limit 1) n
  )
  select coalesce(sum(case when p_key like 'task%' then 1 else slots end), 0)::integer from lane where p_key = any (limits)
$$;
-- Of whom a run is, as its workflow is told.
create function app.standing_of(p_run app.dag_run) returns jsonb language sql stable as $$
  select jsonb_build_object('tenant', p_run.tenant, 'class', p_run.class,
    'share', coalesce((select a.slots from app.account a where a.key = 'tenant:' || p_run.tenant), 1))
$$;
-- The emergency dial that is in force; no row: none is.
create function app.dial_in_force() returns setof app.dial language sql stable as $$
  select * from (select * from app.dial order by id desc limit 1) d
  where coalesce(d.tries, d.below_class, d.below_priority) is not null
$$;

-- Limits of these DAGs came or went: what is under way and what waits draws on those that are now.
create function app.renew_limits(p_dags text[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(72, 2);
  update app.lease l set limits = n.limits, class = n.class
  from (
    select o.run, o.task_id, o.map_index, o.try, app.limits_of(r, o.task_id, o.account) as limits, r.class
    from app.dag_run r join app.lease o on o.run = r.run and o.task_id <> ''
    where r.dag_id = any (p_dags) and r.state in ('queued', 'running')
  ) n
  where l.run = n.run and l.task_id = n.task_id and l.map_index = n.map_index and l.try = n.try
    and (l.limits <> n.limits or l.class <> n.class);
end $$;

-- How much of each of these DAGs may be under way at once: p is a list of {dag_id, runs, tasks, by_task}.
create function app.set_dag_limits(p jsonb) returns void language plpgsql as $$
declare
  v_changed text[];
begin
  with wanted as (
    select x.dag_id, k.key, k.slots
    from jsonb_to_recordset(p) as x(dag_id text, runs integer, tasks integer, by_task jsonb)
    cross join lateral (
      select 'runs:' || x.dag_id as key, x.runs as slots
      union all select 'tasks:' || x.dag_id, x.tasks where x.tasks is not null
      union all select 'task:' || x.dag_id || ':' || t.key, t.value::integer from jsonb_each_text(x.by_task) as t
    ) k
  ), gone as (
    delete from app.account a using jsonb_to_recordset(p) as x(dag_id text)
    where (a.key = 'tasks:' || x.dag_id or (a.key >= 'task:' || x.dag_id || ':' and a.key < 'task:' || x.dag_id || ';'))
      and a.key not in (select w.key from wanted w)
    returning x.dag_id
  ), made as (
    insert into app.account as a (key, slots)
    select w.key, w.slots from wanted w
    where not exists (select from app.account o where o.key = w.key and o.slots = w.slots)
    order by w.key
    on conflict (key) do update set slots = excluded.slots
    returning a.key
  )
  select array_agg(distinct g.dag_id) into v_changed from (
    select dag_id from gone
    union all select w.dag_id from made m join wanted w using (key) where m.key not like 'runs:%'
  ) g;
  if v_changed is not null then perform app.renew_limits(v_changed); end if;
end $$;

-- What is asked with, with what somebody gave the run by hand.
create function app.with_priority(p_own bigint, p_more integer) returns integer language sql immutable as $$
  select least(greatest(p_own + p_more, -2147483648), 2147483647)::integer
$$;

-- Asks for slots of tries whose cells are written. Free capacity for all of it and nobody ahead: granted as it is
-- written (and told: the caller's answer carries it); else the allocator's order decides. The caller shares the
-- allocator (app.share_allocator) since its transaction began.
create function app.ask(p_requests jsonb, out at_once boolean, out undecided boolean) language plpgsql as $$
declare
  v_requests jsonb := p_requests;
  v_accounts text[];
  v_limits text[];
begin
  select array_agg(distinct r.account) into v_accounts from jsonb_to_recordset(p_requests) as r(account text);
  -- The accounts beside pools: usually there are none.
  select array_agg(distinct k.key) into v_limits
  from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, account text)
  join app.dag_run d on d.run = r.run
  join app.account a on a.key in ('tasks:' || d.dag_id, 'task:' || d.dag_id || ':' || r.task_id, 'tenant:' || d.tenant,
                                  case when d.run_type = 'manual' then 'adhoc:' || substr(r.account, 6) end)
  cross join unnest(array[a.key, 'cohort:' || a.cohort]) as k(key)
  where k.key is not null;
  perform app.lock_accounts(74, v_accounts || v_limits);
  select coalesce(bool_and(a.room), false) and not exists (select from app.dial_in_force()) into at_once
  from (
    select q.account,
           acc.slots is not null
             -- By the index: as a join it would read all that waits.
             and (select 1 from app.lease w where w.account = q.account and w.granted_at is null and not w.held limit 1) is null
             and acc.slots >= q.slots
               + coalesce((select sum(l.slots) from app.lease l where l.account = q.account and l.granted_at is not null), 0) as room
    from (
      select r.account, sum(r.slots) as slots
      from jsonb_to_recordset(p_requests) as r(account text, slots integer) group by r.account
    ) q left join app.account acc on acc.key = q.account
  ) a;

  if v_limits is not null then
    select jsonb_agg(r.request || jsonb_build_object('limits', app.limits_of(d, r.request ->> 'task_id', r.request ->> 'account')) order by r.n)
    into v_requests
    from jsonb_array_elements(p_requests) with ordinality as r(request, n)
    join app.dag_run d on d.run = (r.request ->> 'run')::bigint;
    if at_once then
      select bool_and(coalesce(acc.exhausted_until <= app.now(), true)
        and acc.slots >= q.places + coalesce(u.used, 0) + app.limit_kept(q.key)) into at_once
      from (
        select k.key, sum(case when k.key like 'task%' then 1 else r.slots end) as places
        from jsonb_to_recordset(v_requests) as r(limits text[], slots integer) cross join unnest(r.limits) as k(key) group by k.key
      ) q join app.account acc on acc.key = q.key
      left join app.limits_used(v_limits) u on u.key = q.key;
    end if;
  end if;

  -- A repeat that comes late (its worker was thought dead) must not ask for a try that has ended.
  insert into app.lease (run, task_id, map_index, try, wait, account, slots, limits, class, cores, priority, after, granted_at, told_at, tell_after)
  select r.run, r.task_id, r.map_index, r.try, coalesce(r.wait, 0), r.account, r.slots, coalesce(r.limits, '{}'), d.class, coalesce(r.cores, 1),
         app.with_priority(r.priority, d.priority), r.after,
         case when at_once then app.now() end, case when at_once then app.now() end,
         -- The answer may be lost (a killed worker, a slow one): unless the try has begun by then, the outbox tells again.
         case when at_once then app.now() + interval '5 seconds' else app.now() end
  from rows from (jsonb_to_recordset(v_requests)
    as (run bigint, task_id text, map_index integer, try integer, wait integer, account text, slots integer, limits text[], cores real,
        priority integer, after text[]))
    with ordinality as r(run, task_id, map_index, try, wait, account, slots, limits, cores, priority, after, n)
  join app.cell c on c.run = r.run and c.task_id = r.task_id and c.map_index = r.map_index
  -- Nor for a run that is over.
  join app.dag_run d on d.run = r.run and d.state in ('queued', 'running')
  -- Nor for one that waits, by now or once more.
  where c.try = r.try and c.phase between 0 and 1
  order by r.n
  on conflict do nothing;

  undecided := not at_once and (app.grant_free(v_accounts, interval '0')).undecided;
end $$;

-- The label of an instance of any of these tasks.
create function app.label_of(p_run bigint, p_tasks text[], p_index integer) returns text language sql stable as $$
  select c.label from app.cell c
  where c.run = p_run and c.task_id = any (p_tasks) and c.map_index = p_index and c.label is not null limit 1
$$;

-- Live records of tries, group-committed by the worker. A record never overwrites one that is further on.
-- p_next: tasks that may follow what ended (each with all it waits for). Those that are ready are asked for at once, so
-- that a chain needs no call of its own between two tasks; the run decides the same, and finds its grants in hand.
-- p_labels: what people read beside an instance's index, as it is or as another task's instance of the same index has it.
-- Answers: inputs, the outputs that tries which just started asked for, as [run, task, index, try, name, output, stored],
-- none for an upstream that has not succeeded;
-- grants of p_next, as [run, task]; whether requests wait for the slots that came back.
create function app.record_tries(p_started jsonb, p_ended jsonb, p_next jsonb, p_labels jsonb default '[]')
returns table (inputs jsonb, grants jsonb, waiting boolean) language plpgsql as $$
declare
  v_freed text[];
  v_freed_limits text[];
  v_requests jsonb := '[]';
  v_at_once boolean;
  v_undecided boolean := false;
begin
  -- The run's own word repeats the records, so their commit need not wait for the disk; a grant must.
  if jsonb_array_length(p_next) = 0 then
    perform set_config('synchronous_commit', 'off', true);
  else
    perform app.share_allocator();
  end if;

  insert into app.task_try as t (run, task_id, map_index, try, state, worker, started_at)
  select s.run, s.task_id, s.map_index, s.try, 'running', s.worker, s.at
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, worker text, at timestamptz)
  on conflict on constraint task_try_pkey do update set state = 'running', worker = excluded.worker
    where t.state = 'deferred';

  -- Two tries of one task may come together, when the database was away for long: the later one counts.
  insert into app.cell as c (run, task_id, map_index, state, try, phase, started_at)
  select distinct on (s.run, s.task_id, s.map_index) s.run, s.task_id, s.map_index, 'running', s.try, 1, s.at
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, at timestamptz)
  order by s.run, s.task_id, s.map_index, s.try desc
  on conflict on constraint cell_pkey do update
    set state = excluded.state, try = excluded.try, phase = 1, ended_at = null,
        -- One that goes on after a wait began before.
        started_at = coalesce(case when c.try = excluded.try then c.started_at end, excluded.started_at)
    where (excluded.try, excluded.phase) > (c.try, c.phase);

  update app.task_try as t set state = e.state, ended_at = case when e.state <> 'deferred' then e.at end, error = e.error, output = coalesce(e.output::json, t.output)
  from jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer, state text, at timestamptz, error jsonb, output text)
  where t.run = e.run and t.task_id = e.task_id and t.map_index = e.map_index and t.try = e.try and t.state = 'running';

  -- Only what the run will certainly decide the same way; a failure may become a retry.
  update app.cell as c set state = e.state, phase = 2, ended_at = e.at
  from jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer, state text, at timestamptz)
  where c.run = e.run and c.task_id = e.task_id and c.map_index = e.map_index and c.try = e.try and c.phase < 2
    and e.state in ('success', 'skipped');

  if jsonb_array_length(p_labels) > 0 then
    update app.cell as c set label = l.label
    from (
      select r.run, r.task_id, r.map_index, r.try, coalesce(r.label, app.label_of(r.run, r.same_as, r.map_index)) as label
      from jsonb_to_recordset(p_labels) as r(run bigint, task_id text, map_index integer, try integer, label text, same_as text[])
    ) l
    where c.run = l.run and c.task_id = l.task_id and c.map_index = l.map_index and c.try = l.try
      and l.label is not null and c.label is distinct from l.label;
  end if;

  -- It has ended before it was asked to: should it go on after a wait, nobody wants its slot back any more.
  delete from app.stop s using jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer)
  where s.give_back is not null and s.run = e.run and s.task_id = e.task_id and s.map_index = e.map_index and s.try = e.try;

  with freed as (
    delete from app.lease as l
    using jsonb_to_recordset(p_ended) as e(run bigint, task_id text, map_index integer, try integer)
    where l.run = e.run and l.task_id = e.task_id and l.map_index = e.map_index and l.try = e.try
    returning l.account, l.limits
  )
  select array_agg(distinct f.account), array_agg(distinct k.key) filter (where k.key is not null) into v_freed, v_freed_limits
  from freed f left join lateral unnest(f.limits) as k(key) on true;

  if jsonb_array_length(p_next) > 0 then
    with ready as (
      select distinct on (n.run, n.task_id) n.*
      from jsonb_to_recordset(p_next) as n(run bigint, task_id text, after text[], account text, slots integer, cores real, priority integer)
      where cardinality(n.after) = (
        select count(*) from app.cell c
        where c.run = n.run and c.task_id = any (n.after) and c.map_index = -1 and c.state = 'success')
      order by n.run, n.task_id
    ), asked as (
      insert into app.cell as c (run, task_id, state, try, phase, queued_at)
      select r.run, r.task_id, 'queued', 1, 0, app.now() from ready r
      on conflict do nothing
      returning c.run, c.task_id
    )
    select coalesce(jsonb_agg(jsonb_build_object('run', r.run, 'task_id', r.task_id, 'map_index', -1, 'try', 1,
                                                 'account', r.account, 'slots', r.slots, 'cores', r.cores, 'priority', r.priority,
                                                 'after', r.after)), '[]')
    into v_requests
    from ready r join asked a using (run, task_id);
    if jsonb_array_length(v_requests) > 0 then
      select a.at_once, a.undecided into v_at_once, v_undecided from app.ask(v_requests) a;
      if not v_at_once then
        update app.lease l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
        from jsonb_to_recordset(v_requests) as q(run bigint, task_id text)
        where l.run = q.run and l.task_id = q.task_id and l.map_index = -1 and l.try = 1 and l.granted_at is not null;
      end if;
    end if;
  end if;

  return query
  select coalesce(jsonb_agg(jsonb_build_array(s.run, s.task_id, s.map_index, s.try, i.name, i.output::text, i.stored) order by i.n), '[]'),
         coalesce((select jsonb_agg(jsonb_build_array(q.run, q.task_id))
                   from jsonb_to_recordset(v_requests) as q(run bigint, task_id text)
                   join app.lease l on l.run = q.run and l.task_id = q.task_id and l.map_index = -1 and l.try = 1
                   where l.granted_at is not null), '[]'),
         v_undecided or exists (select from app.lease l where l.account = any (v_freed) and l.granted_at is null)
           or exists (select from app.lease l where l.granted_at is null and not l.held and l.limits <> '{}' and l.limits && v_freed_limits)
  from jsonb_to_recordset(p_started) as s(run bigint, task_id text, map_index integer, try integer, inputs jsonb)
  cross join lateral app.try_inputs(s.run, s.inputs) as i(name, output, stored, n);
end $$;

-- What an input of a mapped task, or over one, is made of (core/inputs.ts): the output of one instance; a part of a list
-- (all of it when the list is stored apart); or the outputs of all instances that succeeded, in the order of their indexes.
create function app.input_parts(p_run bigint, p_ref jsonb) returns table (output json, stored jsonb)
language plpgsql stable as $$
declare
  v_from integer := coalesce((p_ref #>> '{pick,from}')::integer, 0);
  v_count integer := (p_ref #>> '{pick,count}')::integer;
begin
  if p_ref ? 'all' then
    return query
    select t.output, t.stored
    from app.cell c left join lateral (
      select x.output, x.stored from app.task_try x
      where x.run = c.run and x.task_id = c.task_id and x.map_index = c.map_index and x.state = 'success'
      order by x.try desc limit 1
    ) t on true
    where c.run = p_run and c.task_id = p_ref ->> 'task' and c.map_index >= 0 and c.state = 'success'
    order by c.map_index
    offset v_from limit case when p_ref ? 'pick' then coalesce(v_count, 1) end;
    return;
  end if;
  return query
  select case
           when not p_ref ? 'pick' or t.stored is not null then t.output
           when v_count is null then t.output -> v_from
           else (select json_agg(e.value order by e.n) from json_array_elements(t.output) with ordinality as e(value, n)
                 where e.n > v_from and e.n <= v_from + v_count)
         end,
         t.stored
  from app.task_try t
  where t.run = p_run and t.task_id = p_ref ->> 'task' and t.map_index = coalesce((p_ref ->> 'index')::integer, -1)
    and t.state = 'success'
  order by t.try desc limit 1;
end $$;

-- The parts of a try's inputs, by name, in their order.
create function app.try_inputs(p_run bigint, p_inputs jsonb) returns table (name text, output json, stored jsonb, n bigint)
language sql stable as $$
  select i.key, o.output, o.stored, o.n
  from jsonb_each(p_inputs) as i(key, value)
  cross join lateral (
    (select t.output, t.stored, 1::bigint as n from app.task_try t
     where jsonb_typeof(i.value) = 'string' and t.run = p_run and t.task_id = i.value #>> '{}' and t.map_index = -1
       and t.state = 'success'
     order by t.try desc limit 1)
    union all
    select p.output, p.stored, p.n from app.input_parts(p_run, i.value) with ordinality as p(output, stored, n)
    where jsonb_typeof(i.value) = 'object'
  ) o
$$;

-- One wake-up of one or many runs: settle what ended, begin to wait, ask for what is ready, answer with every grant the
-- runs have not been told of. `undecided`: a pass of the allocator is wanted; `woken`: a wait has ended already.
create function app.advance(p_runs bigint[], p_records jsonb, p_requests jsonb, p_waits jsonb)
returns table (undecided boolean, grants jsonb, woken boolean) language plpgsql as $$
declare
  v_undecided boolean := false;
  v_woken boolean := false;
begin
  if jsonb_array_length(p_requests) > 0 then
    perform app.share_allocator();
  end if;
  perform app.settle(p_records);
  if jsonb_array_length(p_waits) > 0 then
    v_woken := app.begin_waits(p_waits);
  end if;

  if jsonb_array_length(p_requests) > 0 then
    insert into app.cell as c (run, task_id, map_index, state, try, phase, queued_at)
    select distinct on (r.run, r.task_id, r.map_index) r.run, r.task_id, r.map_index, 'queued', r.try, 0, app.now()
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer, wait integer)
    -- One that goes on behind a wait: not by a repeat that comes late, when it waits again.
    where coalesce(r.wait, 0) = 0 or r.wait = (
      select max(w.wait) from app.wait w
      where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try and w.begun_at is not null)
    order by r.run, r.task_id, r.map_index, r.try desc
    on conflict on constraint cell_pkey do update
      set state = 'queued', try = excluded.try, phase = 0, queued_at = excluded.queued_at, ended_at = null,
          started_at = case when excluded.try = c.try then c.started_at end
      where excluded.try > c.try
        or (excluded.try = c.try and c.phase < 0 and exists (
          select from jsonb_to_recordset(p_requests) as q(run bigint, task_id text, map_index integer, try integer, wait integer)
          where q.run = c.run and q.task_id = c.task_id and q.map_index = c.map_index and q.try = c.try and q.wait > 0));
    -- One that goes on after its wait: its run knows of that end.
    update app.wait as w set known = true
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer, wait integer)
    where w.run = r.run and w.task_id = r.task_id and w.map_index = r.map_index and w.try = r.try and w.wait <= r.wait
      and w.ended_at is not null and not w.known;

    select a.undecided into v_undecided from app.ask(p_requests) a;
  end if;

  return query
  with asked as (
    select r.run, r.task_id, r.map_index, r.try
    from jsonb_to_recordset(p_requests) as r(run bigint, task_id text, map_index integer, try integer)
  ), told as (
    -- The answer may be lost (a killed worker, a slow one): unless the try has begun by then, the outbox tells again.
    update app.lease as l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
    where l.run = any (p_runs) and l.task_id <> '' and l.granted_at is not null and l.told_at is null
    returning l.run, l.task_id, l.map_index, l.try, l.wait
  ), all_grants as (
    select t.run, t.task_id, t.map_index, t.try, t.wait from told t
    union
    select l.run, l.task_id, l.map_index, l.try, l.wait from app.lease l join asked a using (run, task_id, map_index, try)
    where l.granted_at is not null
  )
  select v_undecided, coalesce((select jsonb_agg(jsonb_build_array(g.run, g.task_id, g.map_index, g.try, g.wait)) from all_grants g), '[]'), v_woken;
end $$;

-- New runs: the ledger decides which are new; each new one asks for its DAG's account, highest priority and then oldest
-- first. Keys are taken in one order and before any account, so that callers cannot deadlock.
-- `first`: what the run asks for when it opens. A run that has its place at once is opened here, so that its workflow
-- begins with its grants in hand (`grants`: [task, ...]; null for a run that opens by itself). Answers in p's order.
-- `own`: new, or made before by the same `request`. `undecided`: a pass of the allocator is wanted.
create function app.create_runs(p jsonb)
returns table (dag_id text, run_id text, run bigint, created boolean, own boolean, granted boolean, grants jsonb, undecided boolean,
               standing jsonb)
language plpgsql as $$
declare
  r record;
  v_run bigint;
  v_new boolean[] := '{}';
  v_is_own boolean;
  v_own boolean[] := '{}';
  v_runs bigint[] := '{}';
  v_dag_ids text[] := '{}';
  v_run_ids text[] := '{}';
  v_first jsonb[] := '{}';
  v_asked_as bigint[] := '{}';
  v_locked_at timestamptz;
  v_opening jsonb;
  v_at_once boolean;
  v_undecided boolean := false;
begin
  perform app.share_allocator();
  for r in
    select * from rows from (jsonb_to_recordset(p)
      as (dag_id text, run_id text, run_type text, logical_at timestamptz, fork integer, start_at timestamptz,
          end_at timestamptz, version bigint, conf jsonb, who text, request text, first jsonb, tenant text, class smallint))
      with ordinality as x(dag_id, run_id, run_type, logical_at, fork, start_at, end_at, version, conf, who, request, first, tenant, class, n)
    order by x.dag_id, x.logical_at, x.fork, x.n
  loop
    insert into app.run_key as k (dag_id, logical_at, fork, run, request)
    values (r.dag_id, r.logical_at, coalesce(r.fork, 0), app.new_run(), r.request)
    on conflict do nothing
    returning k.run into v_run;
    v_new := v_new || (v_run is not null);
    v_is_own := v_run is not null;
    if v_run is not null then
      insert into app.dag_run (run, dag_id, run_id, run_type, logical_at, start_at, end_at, state, version, conf, triggered_by, tenant, class,
                               queued_at)
      select v_run, r.dag_id, r.run_id, r.run_type, r.logical_at, r.start_at, r.end_at, 'queued', r.version,
             coalesce(r.conf, '{}'), r.who, coalesce(r.tenant, d.tenant),
             -- Backfills are of the lowest class, whatever their DAG's.
             case when r.run_type = 'backfill' then 0 else coalesce(r.class, d.class, 1) end, app.now()
      from (select) o left join app.dag d on d.dag_id = r.dag_id;
      if r.run_type = 'manual' then
        insert into app.audit (who, action, dag_id, run_id) values (r.who, 'trigger', r.dag_id, r.run_id);
      end if;
    else
      select k.run, coalesce(k.request = r.request, false) into v_run, v_is_own from app.run_key k
      where k.dag_id = r.dag_id and k.logical_at = r.logical_at and k.fork = coalesce(r.fork, 0);
    end if;
    v_own := v_own || v_is_own;
    v_runs := v_runs || v_run;
    v_dag_ids := v_dag_ids || r.dag_id;
    v_run_ids := v_run_ids || r.run_id;
    v_first := array_append(v_first, r.first);
    v_asked_as := v_asked_as || r.n;
  end loop;

  perform app.lock_accounts(73, (
    select array_agg(distinct 'runs:' || a.dag_id) from unnest(v_dag_ids, v_new) as a(dag_id, is_new) where a.is_new));
  v_locked_at := app.now();
  with asked as (
    select d.run, 'runs:' || d.dag_id as account, a.n,
           case d.run_type when 'manual' then 10 when 'backfill' then 1 else 5 end as priority
    from unnest(v_runs, v_new) with ordinality as a(run, is_new, n) join app.dag_run d on d.run = a.run
    where a.is_new
  ), room as (
    select q.account, acc.slots - coalesce((select sum(l.slots) from app.lease l where l.account = q.account and l.granted_at is not null), 0) as free
    from (select distinct k.account from asked k) q join app.account acc on acc.key = q.account
    where not exists (select from app.lease w where w.account = q.account and w.granted_at is null and not w.held)
  )
  insert into app.lease (run, task_id, try, account, slots, priority, granted_at, tell_after)
  select k.run, '', 0, k.account, 1, k.priority,
         case when row_number() over (partition by k.account order by k.priority desc, k.n) <= o.free then app.now() end,
         -- The caller starts it; if it dies first, the outbox does.
         app.now() + interval '5 seconds'
  from asked k left join room o on o.account = k.account
  order by k.n;

  -- Others wait already: the order decides, among all.
  perform app.grant_free(w.accounts, interval '5 seconds') from (
    select array_agg(distinct l.account) as accounts
    from unnest(v_runs, v_new) as a(run, is_new) join app.lease l on l.run = a.run and l.task_id = ''
    where a.is_new and l.granted_at is null
  ) w where w.accounts is not null;
  -- Places that went to older runs: nobody here starts those.
  update app.lease l set tell_after = app.now()
  where l.account in (select 'runs:' || a.dag_id from unnest(v_dag_ids, v_new) as a(dag_id, is_new) where a.is_new)
    and l.task_id = '' and l.granted_at >= v_locked_at and l.run <> all (v_runs);

  select jsonb_agg(q.request || jsonb_build_object('run', a.run, 'map_index', -1, 'try', 1) order by a.n) into v_opening
  from unnest(v_runs, v_new) with ordinality as a(run, is_new, n)
  join app.lease l on l.run = a.run and l.task_id = '' and l.granted_at is not null
  cross join lateral jsonb_array_elements(case when jsonb_typeof(v_first[a.n]) = 'array' then v_first[a.n] end) as q(request)
  where a.is_new;
  if v_opening is not null then
    insert into app.cell as c (run, task_id, state, try, phase, queued_at)
    select q.run, q.task_id, 'queued', 1, 0, app.now() from jsonb_to_recordset(v_opening) as q(run bigint, task_id text);
    select a.at_once, a.undecided into v_at_once, v_undecided from app.ask(v_opening) a;
    if not v_at_once then
      update app.lease l set told_at = app.now(), tell_after = app.now() + interval '5 seconds'
      from unnest(v_runs, v_new) as a(run, is_new)
      where a.is_new and l.run = a.run and l.task_id <> '' and l.granted_at is not null;
    end if;
  end if;

  -- A run that the ledger had may be gone from dag_run by retention.
  return query
  select a.dag_id, a.run_id, a.run, a.is_new, a.is_own, o.granted,
         case when a.is_new and o.granted and jsonb_typeof(v_first[a.n]) = 'array' then coalesce(
           (select jsonb_agg(l.task_id) from app.lease l where l.run = a.run and l.task_id <> '' and l.granted_at is not null), '[]') end,
         v_undecided,
         case when a.is_new and o.granted then (select app.standing_of(made) from app.dag_run made where made.run = a.run) end
  from unnest(v_dag_ids, v_run_ids, v_runs, v_new, v_own, v_asked_as) with ordinality as a(dag_id, run_id, run, is_new, is_own, asked_as, n)
  cross join lateral (
    select exists (select from app.lease l where l.run = a.run and l.task_id = '' and l.granted_at is not null) as granted
  ) o
  order by a.asked_as;
end $$;

-- Temporal has the workflows of these runs. One that is locked is just being opened or closed.
create function app.runs_started(p_runs bigint[]) returns void language plpgsql as $$
begin
  -- Lost in a crash, it is written again: the outbox starts the run a second time, which Temporal refuses.
  perform set_config('synchronous_commit', 'off', true);
  update app.dag_run r set state = 'running', started_at = coalesce(r.started_at, app.now()), reason = null
  from (select d.run from app.dag_run d where d.run = any (p_runs) and d.state = 'queued' for update skip locked) s
  where r.run = s.run;
  update app.lease l set told_at = app.now(), known = true
  from (select o.run from app.lease o where o.run = any (p_runs) and o.task_id = '' and not o.known for update skip locked) s
  where l.run = s.run and l.task_id = '';
end $$;

-- A run begins (or a closed one is opened again). Answers null columns when the run is not to be run.
create function app.open_run(p_run bigint)
returns table (dag_id text, run_id text, run_type text, logical_at timestamptz, start_at timestamptz, end_at timestamptz,
               version bigint, conf jsonb, state text, run_state jsonb) language plpgsql as $$
begin
  -- Leases before their run, as when it closes.
  update app.lease l set told_at = app.now(), known = true where l.run = p_run and l.task_id = '' and not l.known;
  update app.dag_run r set state = 'running', started_at = coalesce(r.started_at, app.now()), reason = null
  where r.run = p_run and r.state in ('queued', 'running');
  return query
  select r.dag_id, r.run_id, r.run_type, r.logical_at, r.start_at, r.end_at, r.version, r.conf, r.state, r.run_state
  from app.dag_run r where r.run = p_run;
end $$;

-- Runs end: their last decisions, their states, all their leases back. True when another run of one of the DAGs waits.
create function app.close_runs(p jsonb) returns boolean language plpgsql as $$
declare
  v_runs bigint[];
  v_accounts text[];
begin
  -- Not one that goes on since: this is a repeat that comes late.
  select array_agg(x.run order by x.run) into v_runs
  from jsonb_to_recordset(p) as x(run bigint, run_state jsonb)
  join app.dag_run r on r.run = x.run
  where r.state not in ('queued', 'running') or r.run_state is null or x.run_state is null
    or (r.run_state ->> 'seq')::integer <= (x.run_state ->> 'seq')::integer;
  perform app.settle((
    select jsonb_agg(d.record) from jsonb_to_recordset(p) as x(records jsonb) cross join lateral jsonb_array_elements(x.records) as d(record)));
  -- What was asked ahead for a task that the run then did not start.
  update app.cell c set state = 'cancelled', phase = 3, ended_at = app.now()
  where c.run = any (v_runs) and c.state in ('none', 'queued', 'running', 'deferred', 'up_for_retry');
  perform from app.dag_run r where r.run = any (v_runs) order by r.run for update;
  update app.dag_run r
  set state = x.state, ended_at = app.now(), run_state = x.run_state, reason = x.reason,
      started_at = coalesce(r.started_at, (select min(t.started_at) from app.task_try t where t.run = r.run), app.now())
  from jsonb_to_recordset(p) as x(run bigint, state text, reason text, run_state jsonb)
  where r.run = x.run and r.run = any (v_runs) and r.state in ('queued', 'running');
  select array_agg(distinct 'runs:' || r.dag_id) into v_accounts from app.dag_run r where r.run = any (v_runs);
  delete from app.lease l where l.run = any (v_runs);
  update app.wait w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  where w.run = any (v_runs) and not w.known;
  return exists (select from app.lease l where l.account = any (v_accounts) and l.granted_at is null and not l.held);
end $$;

-- Pauses or unpauses a DAG. Paused, its scheduled runs that have no place yet get none; those under way end, and what
-- a person asks for goes ahead. False when there is no such DAG.
create function app.set_paused(p_dag text, p_paused boolean, p_who text, p_reason text) returns boolean language plpgsql as $$
begin
  -- The DAG first, as whoever creates its runs.
  update app.dag d set paused = p_paused, pause_reason = p_reason, paused_by = case when p_paused then p_who end,
         next_due_at = case when p_paused then d.next_due_at else app.now() end, updated_at = app.now()
  where d.dag_id = p_dag;
  if not found then return false; end if;
  -- Waiting requests stand still under a pass of the allocator.
  perform pg_advisory_xact_lock(72, 2);
  update app.lease l
  set held = p_paused, reason = case when p_paused then 'its dag is paused' end,
      reason_since = case when p_paused then app.now() end
  from app.dag_run r
  where l.account = 'runs:' || p_dag and l.granted_at is null and l.held <> p_paused
    and r.run = l.run and r.run_type = 'scheduled';
  insert into app.audit (who, action, dag_id, detail)
  values (p_who, case when p_paused then 'pause' else 'unpause' end, p_dag, jsonb_build_object('reason', p_reason));
  return true;
end $$;

-- A run whose workflow is gone ends as failed; what was open in it is cancelled; its leases come back.
create function app.end_gone_run(p_run bigint, p_reason text) returns boolean language plpgsql as $$
begin
  -- How far it came after it was opened again, nobody knows any more.
  update app.dag_run r set state = 'failed', ended_at = app.now(), reason = p_reason, run_state = null
  where r.run = p_run and r.state in ('queued', 'running');
  if not found then
    delete from app.lease l where l.run = p_run;
    return false;
  end if;
  update app.task_try t set state = 'cancelled', ended_at = app.now(),
         error = jsonb_build_object('code', 'run_gone', 'message', p_reason)
  where t.run = p_run and t.state in ('running', 'deferred');
  -- Said in the run's stead, behind its own last word: what it still sends is older, and changes nothing.
  with open as (
    update app.cell c set state = 'cancelled', phase = 3, ended_at = app.now(), seq = n.seq
    from (
      select o.task_id, o.map_index, last.seq + row_number() over (order by o.task_id, o.map_index) as seq
      from app.cell o cross join (
        select greatest(
          coalesce((select max(e.seq) from app.task_event e where e.run = p_run), 0),
          coalesce((select max(k.seq) from app.cell k where k.run = p_run), 0)) as seq) last
      where o.run = p_run and o.state in ('none', 'queued', 'running', 'deferred', 'up_for_retry')
    ) n
    where c.run = p_run and c.task_id = n.task_id and c.map_index = n.map_index
    returning c.run, c.seq, c.task_id, c.map_index, c.try
  )
  insert into app.task_event (run, seq, task_id, map_index, try, state, detail)
  select o.run, o.seq, o.task_id, o.map_index, o.try, 'cancelled', jsonb_build_object('reason', p_reason) from open o;
  delete from app.lease l where l.run = p_run;
  update app.wait w set known = true, ended_at = coalesce(w.ended_at, app.now()), ended_as = coalesce(w.ended_as, 'cancelled')
  where w.run = p_run and not w.known;
  return true;
end $$;
