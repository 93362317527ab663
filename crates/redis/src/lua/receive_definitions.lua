-- ARGV: set, an id for the set if it is new, version or ''. Returns the version, or the version followed by names and
-- records if it is another one.
local version = version_of(ARGV[1], ARGV[2])
if version == ARGV[3] then return { version, 'current' } end
return { version, 'records', unpack(redis.call('HGETALL', definitions_key(ARGV[1]))) }
