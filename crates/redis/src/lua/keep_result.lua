-- ARGV: id, owner, description, text, size, time to live, the two limits. Returns 1, or 0 if there is no room.
local id, owner, size, ttl = ARGV[1], ARGV[2], tonumber(ARGV[5]), tonumber(ARGV[6])
sweep_results()
-- The reply to the first attempt was lost.
if redis.call('EXISTS', result_key(id)) == 1 then return 1 end
if used_by_results('all') + size > tonumber(ARGV[7]) or used_by_results('of ' .. owner) + size > tonumber(ARGV[8]) then return 0 end
redis.call('HSET', result_key(id), 'owner', owner, 'about', ARGV[3], 'text', ARGV[4])
redis.call('PEXPIRE', result_key(id), ttl)
redis.call('ZADD', results, now + ttl, id .. ' ' .. ARGV[5] .. ' ' .. owner)
add_result_bytes(owner, size)
for _, key in ipairs({ results, result_bytes }) do keep(key, ttl + DAY) end
return 1
