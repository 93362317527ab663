-- ARGV: session.
for _, stream in ipairs(redis.call('ZRANGE', streams_key(ARGV[1]), 0, -1)) do drop_stream(ARGV[1], stream) end
redis.call('DEL', streams_key(ARGV[1]), state_key(ARGV[1]))
return 1
