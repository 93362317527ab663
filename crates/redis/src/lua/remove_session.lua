-- ARGV: id. Returns 1, or 0 if it did not exist.
local was_there = find_session(ARGV[1])
remove_session(ARGV[1])
return was_there and 1 or 0
