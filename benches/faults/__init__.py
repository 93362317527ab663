"""What clients notice while instances of a server, or its Redis, fail. The program is `benches/kills`."""
