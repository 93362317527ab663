-- ARGV: call, name, claim.
local entry = find_entry(ARGV[1], ARGV[2])
if entry and not entry.is_done and entry.claim == ARGV[3] then remove_entry(ARGV[1], ARGV[2], entry) end
return 1
