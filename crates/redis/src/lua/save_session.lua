-- ARGV: id, changes, record. Returns 1, or 0 if the session has ended or was changed in the meantime.
local session = find_session(ARGV[1])
if not session or session.changes ~= tonumber(ARGV[2]) - 1 then return 0 end
write_session(ARGV[1], session.owner, ARGV[2], ARGV[3])
return 1
