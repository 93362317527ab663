-- ARGV: for each session its id, the time to keep it or 0, and the version that the caller knows or ''.
-- Returns a letter for each session, '-' for an unknown one, '=' for the known version and '+' for another version, and
-- then the versions and records of the last kind, each in two lines.
local letters, replies = {}, { '' }
for i = 1, #ARGV, 3 do
  local id, keep_for = ARGV[i], tonumber(ARGV[i + 1])
  local session = find_session(id)
  -- The expiry is written only if it would grow by more than an eighth of the time, or half a minute.
  if session and keep_for > 0 and now + keep_for - session.expires > math.min(keep_for / 8, 30000) then
    use_session(id, session.owner, now + keep_for, keep_for)
  end
  if not session then
    table.insert(letters, '-')
  elseif session.version == ARGV[i + 2] then
    table.insert(letters, '=')
  else
    table.insert(letters, '+')
    table.insert(replies, session.version .. '\n' .. session.record)
  end
end
replies[1] = table.concat(letters)
return replies
