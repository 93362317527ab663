-- ARGV: id. Returns the owner, the description and the text, or nothing.
local f = redis.call('HMGET', result_key(ARGV[1]), 'owner', 'about', 'text')
if not f[1] then return false end
return f
