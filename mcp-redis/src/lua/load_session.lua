-- ARGV: id, time to keep it or 0. Returns the record, or nothing.
local session = find_session(ARGV[1])
if not session then return false end
local keep_for = tonumber(ARGV[2])
-- The expiry is written only if it would grow by more than an eighth of the time.
if keep_for > 0 and now + keep_for - session.expires > keep_for / 8 then
  use_session(ARGV[1], session.owner, now + keep_for, keep_for)
end
return redis.call('HGET', session_key(ARGV[1]), 'record')
