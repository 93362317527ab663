-- ARGV: the number of partitions. Returns the number that the server's tasks are in.
local key = prefix .. 'partitions'
-- A single partition is not recorded.
local partitions = redis.call('GET', key) or redis.call('EXISTS', expiry) == 1 and '1' or ARGV[1]
if partitions ~= '1' then
  redis.call('SET', key, partitions, 'NX')
  keep(key, 2 * DAY)
end
return tonumber(partitions)
