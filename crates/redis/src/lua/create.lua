-- ARGV: id, owner, size, time to live, lease, the four limits; then fields and values.
local id, owner, size, ttl, lease = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
if redis.call('EXISTS', withdrawn_key(id)) == 1 then return { 'withdrawn' } end
sweep()
local known = redis.call('HMGET', task_key(id), 'created', 'owner')
-- The creation is repeated because the first reply was lost.
if known[1] then return known[2] == owner and { 'created', known[1] } or { 'in use' } end
local tasks_of_caller = redis.call('ZCARD', owner_key(owner))
if tasks_of_caller >= tonumber(ARGV[7]) or used('of ' .. owner) + size > tonumber(ARGV[9]) then return { 'caller full' } end
if redis.call('ZCARD', expiry) >= tonumber(ARGV[6]) or used('all') + size > tonumber(ARGV[8]) then return { 'full' } end
-- Numbers increase in one partition and are comparable with those of others: they are times in microseconds.
local last = tonumber(redis.call('GET', prefix .. 'number') or 0)
local number = string.format('%.0f', math.max(last + 1, time[1] * 1000000 + time[2]))
redis.call('SET', prefix .. 'number', number, 'KEEPTTL')
redis.call('HSET', task_key(id), 'created', now, 'updated', now, 'expires', now + ttl, unpack(ARGV, 10))
redis.call('ZADD', expiry, now + ttl, id)
redis.call('ZADD', owner_key(owner), number, id)
add_bytes(owner, size)
for _, key in ipairs({ task_key(id), expiry, owner_key(owner), bytes, prefix .. 'number', prefix .. 'partitions' }) do keep(key, ttl + DAY) end
set_due(id, owner, now + lease)
return { 'created', now }
