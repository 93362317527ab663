-- ARGV: id, attempt, name, claim.
local task = latest(ARGV[1], ARGV[2])
local known = task and redis.call('HGET', steps_key(task.id), ARGV[3])
if known == '0' .. ARGV[4] then
  redis.call('HDEL', steps_key(task.id), ARGV[3])
  redis.call('HINCRBY', task_key(task.id), 'steps', 0 - #ARGV[3])
  add_bytes(task.owner, 0 - #ARGV[3])
end
return 1
