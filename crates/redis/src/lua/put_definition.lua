-- ARGV: set, an id for the set if it is new, name, record. Returns 1, or 0 if there is no room.
local set = ARGV[1]
if redis.call('HEXISTS', definitions_key(set), ARGV[3]) == 0 and redis.call('HLEN', definitions_key(set)) >= MAX_DEFINITIONS then
  return 0
end
redis.call('HSET', definitions_key(set), ARGV[3], ARGV[4])
changed(set, ARGV[2])
return 1
