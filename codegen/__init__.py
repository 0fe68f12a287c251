"""What code a kernel is: lowering to loops, index arithmetic, templates."""
