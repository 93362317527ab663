-- ARGV: call, name, claim, kind, owner, note, time to keep it, result.
local call, name, kept, result = ARGV[1], ARGV[2], tonumber(ARGV[7]), ARGV[8]
local entry = find_entry(call, name)
if entry and entry.is_done then return 1 end
local more = #result
if not entry then
  entry = { claim = ARGV[3], kind = ARGV[4], owner = ARGV[5], note = ARGV[6], size = #name + #ARGV[6] }
  count(entry, 1, entry.size)
end
entry.is_done, entry.result, entry.size = true, result, entry.size + more
save(call, name, entry, kept)
count(entry, 0, more)
return 1
