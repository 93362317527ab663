-- ARGV: call, name, result. Removes the entry if it has exactly this result.
local entry = find_entry(ARGV[1], ARGV[2])
if entry and entry.is_done and entry.result == ARGV[3] then remove_entry(ARGV[1], ARGV[2], entry) end
return 1
