-- ARGV: id. Returns the version of a task and the time until it expires.
if not find(ARGV[1]) then return {} end
local f = redis.call('HMGET', task_key(ARGV[1]), 'version', 'expires')
return { f[1], f[2] - now }
