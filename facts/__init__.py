"""What the graph is: nodes, dtypes, views, symbolic integers, front ends, and the facts handed to the rules."""
