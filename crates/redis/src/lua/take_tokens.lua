-- ARGV: for each bucket, its name, the microseconds in which it gains a token, and its capacity. Takes a token from each
-- bucket, or none. Returns 0, or the microseconds until all of them have one. A bucket is the time at which it is full.
local micros = time[1] * 1000000 + time[2]
local times, wait = {}, 0
for i = 1, #ARGV, 3 do
  local refill, capacity = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local full = math.max(tonumber(redis.call('GET', rate_key(ARGV[i])) or micros), micros)
  wait = math.max(wait, full - micros - refill * (capacity - 1))
  times[i] = full + refill
end
if wait > 0 then return math.ceil(wait) end
for i, full in pairs(times) do
  redis.call('SET', rate_key(ARGV[i]), string.format('%.0f', full), 'PX', math.ceil((full - micros) / 1000))
end
return 0
