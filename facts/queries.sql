-- kernels: The kernels in running order.
select k.kernel, k.name, k.kind, k.dtype || k.shape as value, k.members, k.bytes_read, k.bytes_written, k.rules
from latest join kernel k using (run_id) order by k.run_id, k.kernel;

-- traffic: Kernels and bytes moved, per graph.
select g.name, count(*) as kernels, sum(k.bytes_read + k.bytes_written) as bytes
from latest join graph g using (graph_id) join kernel k using (run_id) group by g.graph_id order by bytes desc;

-- who-realizes: Which rules ask for stores, and how many bytes those hold.
select r.rule_id, count(*) as stores, sum(n.nbytes) as bytes
from latest join realized r using (run_id, graph_id) join node n using (graph_id, node)
group by r.rule_id order by bytes desc, r.rule_id;

-- missed: The largest values that are stored and loaded again, and why.
select u.producer, u.consumer, n.op, n.label, u.nbytes, u.reason
from latest l join unfused u using (run_id) join node n on n.graph_id = l.graph_id and n.node = u.producer
order by u.nbytes desc, u.producer, u.consumer limit 20;

-- refusals: The dearest fusions that did not happen: which condition of which rule keeps the two apart.
select f.a as producer, f.b as consumer, n.op, n.label, f.word, f.rule_id || '#' || f.clause as rule, f.literal, f.condition,
  f.bytes_lost
from latest l join refusal f using (run_id) join node n on n.graph_id = l.graph_id and n.node = f.a
order by f.bytes_lost desc, n.position, f.b, rule limit 20;

-- refusals-by-word: Why values are stored, how often, and the bytes that storing them moves (each value once).
select word, count(*) as stored, sum(edges) as edges, sum(moved) as bytes
from (select f.word, count(distinct f.b) as edges, max(f.bytes_lost) as moved
  from latest join refusal f using (run_id) group by f.run_id, f.a, f.word)
group by word order by bytes desc, word;

-- refusals-by-rule: Which clauses keep values apart, and for how many they are the only one.
select f.rule_id, f.clause, f.literal, f.condition, count(*) as edges, sum(not exists
  (select 1 from refusal g where g.run_id = f.run_id and g.a = f.a and g.b = f.b
    and (g.rule_id, g.clause) <> (f.rule_id, f.clause))) as alone, max(f.bytes_lost) as dearest
from latest join refusal f using (run_id)
group by f.rule_id, f.clause, f.literal order by edges desc, f.rule_id, f.clause;

-- recomputed: Operations that are computed in several kernels.
select m.node, n.op, n.label, count(*) as kernels
from latest join member m using (run_id) join node n using (graph_id, node)
where n.op not in ('CONST', 'BIND', 'VIEW') group by m.run_id, m.node having kernels > 1 order by kernels desc, n.position;

-- reduce-chains: Kernels in which one reduction reads another.
select distinct a.kernel, a.node as inner_reduce, b.node as outer_reduce
from latest l join member a using (run_id) join member b on b.run_id = a.run_id and b.kernel = a.kernel
join node p on p.graph_id = l.graph_id and p.node = a.node and p.op = 'REDUCE_AXIS'
join node q on q.graph_id = l.graph_id and q.node = b.node and q.op = 'REDUCE_AXIS'
join edge e on e.graph_id = l.graph_id and e.src = a.node and e.dst = b.node order by a.kernel;

-- rules: How often each rule applies, the most frequent first.
select s.rule_id, s.clause, r.kind, s.matches, s.rows, r.title
from latest join rule_stat s using (run_id) join rule r using (run_id, rule_id, clause)
where s.rows > 0 order by s.rows desc, s.rule_id, s.clause;

-- idle-rules: Rules that applied nowhere in this file.
select r.rule_id, r.clause, r.file, r.line
from rule r join rule_stat s using (run_id, rule_id, clause)
group by r.rule_id, r.clause having sum(s.rows) = 0 order by r.rule_id, r.clause;

-- slowest-rules: Where the evaluation of the rules spent its time.
select c.relations, c.ms, c.alternations, c.rounds, c.evaluations, c.skipped
from latest join component c using (run_id) order by c.ms desc limit 10;

-- dear-rules: What each clause cost, the dearest first. Needs a run saved by `schedulog profile`.
select s.rule_id, s.clause, s.ms, s.tried, s.fired, s.new_facts, s.ms / max(s.new_facts, 1) as ms_per_fact
from latest join rule_stat s using (run_id) where s.ms > 0 order by s.ms desc, s.rule_id, s.clause limit 20;

-- slowest: The slowest kernels, their bandwidth in GB/s, and the rules that formed them. Needs an executed run.
select k.kernel, k.name, t.executor, t.us, (k.bytes_read + k.bytes_written) / t.us / 1e3 as gb_s, k.rules
from latest join kernel k using (run_id) join timing t using (run_id, kernel) order by t.us desc limit 10;

-- compare: Decisions that only one of the runs :old and :new took.
select :old as only_in, relation, atom, rule_id from decision o where run_id = :old and not exists
  (select 1 from decision n where n.run_id = :new and n.atom = o.atom and n.rule_id = o.rule_id)
union all
select :new, relation, atom, rule_id from decision n where run_id = :new and not exists
  (select 1 from decision o where o.run_id = :old and o.atom = n.atom and o.rule_id = n.rule_id)
order by 1, 3, 4;

-- engines-disagree: Decisions that two engines took differently for one graph and rule set. Always empty.
select x.graph_id, x.engine, y.engine as other_engine, d.atom
from run x join run y on x.graph_id = y.graph_id and x.rules_sha = y.rules_sha and x.engine <> y.engine
join decision d on d.run_id = x.run_id
where (select group_concat(name || '=' || value) from option where run_id = x.run_id)
  is (select group_concat(name || '=' || value) from option where run_id = y.run_id)
and not exists (select 1 from decision e where e.run_id = y.run_id and e.atom = d.atom);

-- simplified: How often each simplification rule changed the graph.
select rule, count(*) as steps from latest join rewrite using (run_id) group by rule order by steps desc, rule;
