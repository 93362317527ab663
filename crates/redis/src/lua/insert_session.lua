-- ARGV: id, '1' and the owner or '', changes, record, time to keep it, the two limits, id of a session to end or ''.
-- Returns 'done', or 'full' and the ids of the sessions to end first: of all, those that would expire first, because they
-- were not used after the handshake or have been idle for the longest time; of a principal, the latter.
local id, owner, keep_for = ARGV[1], ARGV[2], tonumber(ARGV[5])
sweep_sessions()
if ARGV[8] ~= '' then
  remove_session(ARGV[8])
  -- This removes the remaining entry of a session whose record was lost.
  redis.call('ZREM', owner_sessions_key(owner), ARGV[8])
end
-- Only an expired session can have this id, or this session itself if the reply to the first attempt was lost.
remove_session(id)
local of_owner = owner_sessions_key(owner)
if owner ~= '' and redis.call('ZCARD', of_owner) >= tonumber(ARGV[7]) then
  return { 'full', unpack(redis.call('ZRANGE', of_owner, 0, MAX_CANDIDATES - 1)) }
end
if redis.call('ZCARD', sessions) >= tonumber(ARGV[6]) then
  return { 'full', unpack(redis.call('ZRANGE', session_expiry, 0, MAX_CANDIDATES - 1)) }
end
write_session(id, owner, ARGV[3], ARGV[4])
use_session(id, owner, now + keep_for, keep_for)
return { 'done' }
