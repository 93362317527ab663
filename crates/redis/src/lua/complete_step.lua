-- ARGV: id, attempt, name, result, the limits on bytes.
local task = latest(ARGV[1], ARGV[2])
if not task then return { 'stale' } end
local known = redis.call('HGET', steps_key(task.id), ARGV[3])
if not known or known:sub(1, 1) == '1' then return { 'done' } end
if not has_room(task.owner, #ARGV[4], ARGV[5], ARGV[6]) then return { 'full' } end
redis.call('HSET', steps_key(task.id), ARGV[3], '1' .. ARGV[4])
redis.call('HINCRBY', task_key(task.id), 'steps', #ARGV[4])
if tonumber(redis.call('HGET', task_key(task.id), 'tries')) > 1 then redis.call('HSET', task_key(task.id), 'tries', 1) end
add_bytes(task.owner, #ARGV[4])
return { 'done' }
