-- ARGV: id, lease. Returns the fields of the task, or nothing.
local from = redis.call('ZSCORE', due, ARGV[1])
if not from or tonumber(from) > now or not find(ARGV[1]) then return {} end
return begin_attempt(ARGV[1], tonumber(ARGV[2]))
