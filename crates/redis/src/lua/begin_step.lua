-- ARGV: id, attempt, name, claim, the limits on bytes. A step is '0' and a claim, or '1' and a result.
local task = latest(ARGV[1], ARGV[2])
if not task then return { 'stale' } end
local known = redis.call('HGET', steps_key(task.id), ARGV[3])
if known then
  if known:sub(1, 1) == '1' then return { 'done', known:sub(2) } end
  -- The claim is repeated because the first reply was lost.
  return { known:sub(2) == ARGV[4] and 'granted' or 'taken' }
end
if not has_room(task.owner, #ARGV[3], ARGV[5], ARGV[6]) then return { 'full' } end
redis.call('HSET', steps_key(task.id), ARGV[3], '0' .. ARGV[4])
keep(steps_key(task.id), redis.call('PTTL', task_key(task.id)))
redis.call('HINCRBY', task_key(task.id), 'steps', #ARGV[3])
add_bytes(task.owner, #ARGV[3])
return { 'granted' }
