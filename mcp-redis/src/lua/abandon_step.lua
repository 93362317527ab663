-- ARGV: id, attempt, name, token.
local task = latest(ARGV[1], ARGV[2])
local known = task and redis.call('HGET', steps_key(task.id), ARGV[3])
if known and known:sub(1, 1) == '0' and not is_repeated(task.id, ARGV[4]) then
  mark(task.id, ARGV[4])
  redis.call('HDEL', steps_key(task.id), ARGV[3])
  redis.call('HINCRBY', task_key(task.id), 'steps', 0 - #ARGV[3])
  add_bytes(task.owner, 0 - #ARGV[3])
end
return 1
