-- ARGV: milliseconds for which a key seals, until a new key may seal, and for which an old key may still open; a new key;
-- then the keys that the caller knows. A key is '<milliseconds at which it was made> <text>'. Returns the keys; the
-- first one seals.
local seals_for, waits_for, opens_for = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local name = prefix .. 'sealing-keys'
local function made(key) return tonumber(key:match('^(%d+) ')) end

-- Keys that Redis has lost are put back, so that nothing that they sealed is lost. They are ordered by their time.
for i = 5, #ARGV do
  if made(ARGV[i]) and not redis.call('ZSCORE', name, ARGV[i]) then redis.call('ZADD', name, made(ARGV[i]), ARGV[i]) end
end
local newest = redis.call('ZRANGE', name, -1, -1)[1]
if not newest or made(newest) + seals_for <= now then
  redis.call('ZADD', name, now, string.format('%.0f', now) .. ' ' .. ARGV[4])
end
redis.call('ZREMRANGEBYSCORE', name, '-inf', now - seals_for - waits_for - opens_for)
redis.call('PEXPIRE', name, seals_for + waits_for + opens_for)

local keys = redis.call('ZRANGE', name, 0, -1)
local sealing = 1
for i, key in ipairs(keys) do
  if made(key) + waits_for <= now then sealing = i end
end
table.insert(keys, 1, table.remove(keys, sealing))
return keys
