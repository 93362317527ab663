-- ARGV: owner. Returns the number of the caller's tasks and their bytes.
sweep()
return { redis.call('ZCARD', owner_key(ARGV[1])), used('of ' .. ARGV[1]) }
