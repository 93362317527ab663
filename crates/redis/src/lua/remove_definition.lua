-- ARGV: set, an id for the set if it is new, name. Returns 1 if the record existed.
if redis.call('HDEL', definitions_key(ARGV[1]), ARGV[3]) == 0 then return 0 end
changed(ARGV[1], ARGV[2])
return 1
