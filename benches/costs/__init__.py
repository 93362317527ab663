"""What Redis costs: `benches/redis-cost` is the program, and this package has its parts."""
