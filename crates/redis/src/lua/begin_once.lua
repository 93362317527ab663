-- ARGV: call, name, claim, kind, owner, note, time to keep it, limits on all entries and their bytes, and on the owner's.
sweep_entries()
local call, name, claim, kept = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[7])
local known = find_entry(call, name)
if known then
  if known.is_done then return { 'done', known.result } end
  -- The claim is repeated because the first reply was lost.
  if known.claim == claim then return { 'granted' } end
  return { 'taken', known.note }
end
local entry = { claim = claim, kind = ARGV[4], owner = ARGV[5], note = ARGV[6], size = #name + #ARGV[6], is_done = false, result = '' }
if is_full(entry.kind .. ' of ' .. entry.owner, entry.size, ARGV[10], ARGV[11]) then return { 'caller full' } end
if is_full(entry.kind, entry.size, ARGV[8], ARGV[9]) then return { 'full' } end
save(call, name, entry, kept)
count(entry, 1, entry.size)
return { 'granted' }
