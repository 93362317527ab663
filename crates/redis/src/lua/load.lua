-- ARGV: id. Returns the time, and the fields of the task.
if not find(ARGV[1]) then return { now } end
local fields = redis.call('HGETALL', task_key(ARGV[1]))
table.insert(fields, 1, now)
return fields
