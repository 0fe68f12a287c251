-- The database of scheduling runs. Nodes are named n0, n1, ... by their position in the graph, views v0, v1, ...;
-- kernels are numbered in running order. docs/schema.md is made from this file.
pragma user_version = 3;
pragma application_id = 1397518183;

-- A tensor graph. Equal graphs of one file share a row.
create table graph (
  graph_id integer primary key,  -- number of the graph in this file
  name text not null,            -- what the user calls the graph
  sha text not null,             -- SHA-256 of `json`
  nodes integer not null,        -- how many nodes it has, the SINK included
  json text not null             -- the graph as docs/graph-format.md describes it, without the contents of buffers
);

-- One scheduling of one graph under one set of rules.
create table run (
  run_id integer primary key,     -- number of the run in this file; later runs have larger numbers
  graph_id integer not null,      -- the graph scheduled
  label text not null,            -- the user's name for the run, may be empty
  created text not null,          -- when it was saved, UTC, ISO 8601
  version text not null,          -- the version of schedulog
  engine text not null,           -- the engine that evaluated the rules
  rules_sha text not null,        -- identifies the meaning of the rule set, whatever its order and comments
  rules_text text not null,       -- all rules and declarations as one rule file, from which decisions can be derived again
  rules_ms real not null,         -- time the evaluation of the rules took, milliseconds
  rounds integer not null,        -- rounds of all fixpoints together
  alternations integer not null   -- the most alternations that a component with `not` inside needed
);

-- An operation of a graph.
create table node (
  graph_id integer not null,   -- the graph
  node text not null,          -- short name: n and the position
  position integer not null,   -- place in the depth-first order, sources before users
  op text not null,            -- operation
  dtype text not null,         -- element type
  shape text not null,         -- sizes, "[4,8]"; a symbolic size is an expression
  device text not null,        -- where the value is made
  size integer not null,       -- elements; a symbolic size counts at its maximum
  nbytes integer not null,     -- size in bytes
  label text not null,         -- the user's name for it, may be empty
  primary key (graph_id, node)
) without rowid;

-- An operand: `dst` reads `src`. Neither is a VIEW: views are the way of looking.
create table edge (
  graph_id integer not null,   -- the graph
  src text not null,           -- node read
  dst text not null,           -- node that reads it
  slot integer not null,       -- which operand of dst, from 0
  view text not null,          -- the view through which dst sees src
  primary key (graph_id, src, dst, slot)
) without rowid;
create index edge_by_user on edge (graph_id, dst, slot);

-- A way of looking at a value: of the graph, or composed by a rule of the run.
create table view (
  run_id integer not null,      -- the run
  view text not null,           -- short name: v and a number
  shape text not null,          -- sizes of what is seen
  contiguous integer not null,  -- 1 if all elements are seen, each once and in order
  masked integer not null,      -- 1 if zeros are seen around the source
  stack text not null,          -- the views as JSON, the innermost first: shape, strides, offset, mask
  primary key (run_id, view)
) without rowid;

-- A clause of the rule set.
create table rule (
  run_id integer not null,    -- the run
  rule_id text not null,      -- stable name of the rule, "core/store-assign"
  clause integer not null,    -- which clause of that rule, from 1
  relation text not null,     -- the relation it derives
  pack text not null,         -- rule pack
  pack_version text not null, -- version of the pack, empty if it has none
  kind text not null,         -- realize, fuse, forbid, order, check or helper
  priority integer not null,  -- priority
  title text not null,        -- what it does, one line
  why text not null,          -- the decision in words
  status text not null,       -- stable or experimental
  refusal text not null,      -- what the rule keeps from being fused, in a word; may be empty
  refuse text not null,       -- the rule's words for the failing of a condition, as JSON by its number
  file text not null,         -- where it stands
  line integer not null,      -- line in the file
  column integer not null,    -- column in the line
  width integer not null,     -- characters of its first line
  text text not null,         -- the clause
  primary key (run_id, rule_id, clause)
) without rowid;

-- What a function that a pack supplies gave. A saved run is asked again by these values, without the code of the pack.
create table function_value (
  run_id integer not null,  -- the run
  function text not null,   -- name of the function
  arguments text not null,  -- what it was called with, as JSON: numbers, strings, views as in the table view
  result text not null,     -- what it gave, as JSON
  primary key (run_id, function, arguments)
) without rowid;

-- A row that a rule of kind realize, fuse, forbid or order derived, with every clause that derives it.
create table decision (
  run_id integer not null,        -- the run
  kind text not null,             -- kind of the rule
  relation text not null,         -- the relation of the row
  a text,                         -- first argument
  b text,                         -- second argument, null if there is none
  c text,                         -- third argument, null if there is none
  atom text not null,             -- the row as one can ask for it: schedulog why RUN.db 'realize(n12)'
  rule_id text not null,          -- a rule that derives it
  clause integer not null,        -- the clause of that rule
  n_derivations integer not null, -- in how many ways the clause does
  primary key (run_id, atom, rule_id, clause)
) without rowid;
create index decision_by_rule on decision (run_id, rule_id, clause);

-- A kernel, and what asked for its output to be stored: the rules at which the reasoning of kind realize starts.
create table reason (
  run_id integer not null,   -- the run
  node text not null,        -- output node of the kernel
  rule_id text not null,     -- the rule
  primary key (run_id, node, rule_id)
) without rowid;

-- An operand that is computed and stored, so that the operation which reads it loads it: a fusion that did not happen. A row
-- for each clause that stores it; without all of them it would be computed where it is read, unless a clause that holds in
-- their absence only stores it then (`schedulog diff --drop` tells). Rows of one operand overlap in their bytes. Empty where
-- the run was saved without refusals.
create table refusal (
  run_id integer not null,     -- the run
  kind text not null,          -- what was refused: fuse
  a text not null,             -- the operand that is stored
  b text not null,             -- the operation that reads it
  rule_id text not null,       -- the rule that stores it
  clause integer not null,     -- its clause
  literal integer not null,    -- the condition of the clause that says most, from 1; if it did not hold, the clause would not apply
  condition text not null,     -- that condition
  word text not null,          -- why, in a word that holds for every rule set
  reason text not null,        -- why, in the words of the rule
  bytes_lost integer not null, -- what the kernels of b would not move if they computed a: reads of a, and its write if only they need it
  primary key (run_id, a, b, rule_id, clause)
) without rowid;
create index refusal_by_word on refusal (run_id, word);

-- One launch.
create table kernel (
  run_id integer not null,         -- the run
  kernel integer not null,         -- number, in running order from 0
  name text not null,              -- name in the generated code
  kind text not null,              -- store, assign, copy or view
  output text not null,            -- node whose value it stores
  shape text not null,             -- sizes of that value
  dtype text not null,             -- its element type
  device text not null,            -- device of the output
  members integer not null,        -- nodes evaluated inside, views included
  reduces integer not null,        -- reductions among them
  bytes_read integer not null,     -- sizes of the buffers read, each once and whole, also where a window of it is read
  bytes_written integer not null,  -- size of the value stored
  rules text not null,             -- ids of the rules that formed it, separated by ", "
  primary key (run_id, kernel)
) without rowid;
create index kernel_by_output on kernel (run_id, output);

-- A node computed inside a kernel. A node in several kernels is computed several times.
create table member (
  run_id integer not null,   -- the run
  kernel integer not null,   -- the kernel
  node text not null,        -- the node
  primary key (run_id, kernel, node)
) without rowid;
create index member_by_node on member (run_id, node, kernel);

-- A piece of memory.
create table buffer (
  run_id integer not null,   -- the run
  buffer integer not null,   -- number
  name text not null,        -- name, may be empty
  dtype text not null,       -- element type
  size integer not null,     -- elements
  nbytes integer not null,   -- size in bytes
  device text not null,      -- where it lies
  origin text not null,      -- input (given at execution), contents (comes with the graph) or made (by a kernel)
  primary key (run_id, buffer)
) without rowid;

-- What a kernel does with a buffer.
create table kernel_buffer (
  run_id integer not null,    -- the run
  kernel integer not null,    -- the kernel
  argument integer not null,  -- number of the argument; 0 is the output
  buffer integer not null,    -- the buffer
  role text not null,         -- output, input, or both
  primary key (run_id, kernel, argument)
) without rowid;

-- What the simplifier did to the graph before anything was decided, step by step.
create table rewrite (
  run_id integer not null,    -- the run
  step integer not null,      -- number, in order of application
  rule text not null,         -- the simplification rule
  before text not null,       -- the node it was applied to
  after text not null,        -- what stands in its place
  primary key (run_id, step)
) without rowid;

-- How a kernel reads a value that is stored: its views, composed down to the buffer. i0, i1, ... count along the axes
-- of the value the kernel stores, r0, r1, ... along those it reduces. A kernel that sees values through more than 20,000
-- views has no rows. What is written where, `store` says.
create table load (
  run_id integer not null,    -- the run
  kernel integer not null,    -- the kernel
  load integer not null,      -- number, in order of first visit
  argument integer not null,  -- which argument of the kernel is read
  node text not null,         -- the value that lies there
  shape text not null,        -- sizes of what is read: axes of the stored value, then reduced ones
  position text not null,     -- the element of the buffer, as an array of the node's type, an expression of i0, ..., r0, ...
  guards text not null,       -- comparisons, separated by " and ", under which it is read (else it is 0); may be empty
  stack text not null,        -- the views as JSON, the innermost first, as in `view`
  primary key (run_id, kernel, load)
) without rowid;

-- Where a kernel writes its value.
create table store (
  run_id integer not null,    -- the run
  kernel integer not null,    -- the kernel
  position text not null,     -- the element of argument 0, as an array of the output's type, an expression of i0, i1, ...
  guards text not null,       -- as in `load`
  stack text not null,        -- the views as JSON, as in `load`
  primary key (run_id, kernel)
) without rowid;

-- `before` must run before `after`.
create table order_edge (
  run_id integer not null,   -- the run
  before integer not null,   -- kernel
  after integer not null,    -- kernel
  kind text not null,        -- data: it makes what is read; version: it reads what is overwritten
  buffer integer not null,   -- the buffer it is about
  primary key (run_id, before, after, kind, buffer)
) without rowid;

-- A requested value.
create table result (
  run_id integer not null,   -- the run
  slot integer not null,     -- which output of the graph, from 0
  name text not null,        -- its name
  node text not null,        -- its node
  shape text not null,       -- its sizes
  buffer integer,            -- where it lies after the run; null for a constant
  primary key (run_id, slot)
) without rowid;

-- A switch that was set for the run.
create table option (
  run_id integer not null,   -- the run
  name text not null,        -- name
  value integer not null,    -- value
  primary key (run_id, name)
) without rowid;

-- What one execution of a kernel took. Empty where nothing was executed.
create table timing (
  run_id integer not null,    -- the run
  kernel integer not null,    -- the kernel
  executor text not null,     -- the device that ran it
  us real not null,           -- microseconds, of the last execution on that device
  primary key (run_id, kernel, executor)
) without rowid;

-- How often a clause applies to the finished model, and what it cost where the run was profiled: all rounds together, null
-- else.
create table rule_stat (
  run_id integer not null,    -- the run
  rule_id text not null,      -- the rule
  clause integer not null,    -- the clause
  matches integer not null,   -- in how many ways its conditions hold
  rows integer not null,      -- how many different rows it derives
  tried integer,              -- rows that its joins looked at
  fired integer,              -- matches of its whole body on the way
  new_facts integer,          -- rows it added
  ms real,                    -- milliseconds
  primary key (run_id, rule_id, clause)
) without rowid;

-- What the evaluation of a set of relations that depend on one another cost.
create table component (
  run_id integer not null,        -- the run
  component integer not null,     -- number, in the order of evaluation
  relations text not null,        -- the relations, or the first of them
  alternations integer not null,  -- estimates of the alternating fixpoint
  rounds integer not null,        -- rounds of its fixpoints
  evaluations integer not null,   -- evaluations of parts
  skipped integer not null,       -- evaluations left out because nothing had changed
  ms real not null,               -- milliseconds
  primary key (run_id, component)
) without rowid;

-- The newest run of each graph.
create view latest as
  select max(run_id) as run_id, graph_id from run group by graph_id;

-- Nodes whose value a kernel stores, with the rules that asked for it.
create view realized as
  select k.run_id, r.graph_id, k.output as node, k.kernel, w.rule_id
  from kernel k join run r using (run_id) left join reason w on w.run_id = k.run_id and w.node = k.output;

-- Operands that are computed inside the kernel that uses them.
create view fused as
  select r.run_id, e.src as producer, e.dst as consumer, c.kernel
  from run r join edge e using (graph_id)
  join member c on c.run_id = r.run_id and c.node = e.dst
  join member p on p.run_id = r.run_id and p.kernel = c.kernel and p.node = e.src
  group by r.run_id, e.src, e.dst, c.kernel;

-- Operands that another kernel stores and the user loads again, with the reason: rule ids. `refusal` says more.
create view unfused as
  select r.run_id, e.src as producer, e.dst as consumer, k.kernel, c.kernel as read_by, n.nbytes, k.rules as reason,
    f.bytes_lost
  from run r join edge e using (graph_id)
  join kernel k on k.run_id = r.run_id and k.output = e.src
  join member c on c.run_id = r.run_id and c.node = e.dst and c.kernel <> k.kernel
  join node n on n.graph_id = r.graph_id and n.node = e.src
  join node u on u.graph_id = r.graph_id and u.node = e.dst and (u.op <> 'ASSIGN' or e.slot > 0)
  left join refusal f on f.run_id = r.run_id and f.a = e.src and f.b = e.dst
  group by r.run_id, e.src, e.dst, c.kernel;
