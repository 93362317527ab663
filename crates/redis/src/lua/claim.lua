-- ARGV: id, lease, token. Returns the fields of the task, or nothing.
if is_repeated(ARGV[1], ARGV[3]) then return redis.call('HGETALL', task_key(ARGV[1])) end
local from = redis.call('ZSCORE', due, ARGV[1])
local task = from and tonumber(from) <= now and find(ARGV[1])
if not task then return {} end
return begin_attempt(task.id, task.owner, tonumber(ARGV[2]), ARGV[3])
