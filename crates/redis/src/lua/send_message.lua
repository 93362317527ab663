-- ARGV: beginning of the names, text. Returns the number of instances, or -1 if an inbox is full.
local alive = {}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', instances, '(' .. now, '+inf')) do
  if name:sub(1, #ARGV[1]) == ARGV[1] then
    local used = tonumber(redis.call('HGET', inbox_state_key(name), 'bytes') or 0)
    local texts = redis.call('LLEN', inbox_key(name))
    if texts >= MAX_TEXTS or texts > 0 and used + #ARGV[2] > MAX_BYTES then return -1 end
    table.insert(alive, name)
  end
end
for _, name in ipairs(alive) do
  redis.call('RPUSH', inbox_key(name), ARGV[2])
  redis.call('HINCRBY', inbox_state_key(name), 'number', 1)
  redis.call('HINCRBY', inbox_state_key(name), 'bytes', #ARGV[2])
  local left = math.max(1, redis.call('ZSCORE', instances, name) - now)
  redis.call('PEXPIRE', inbox_key(name), left)
  redis.call('PEXPIRE', inbox_state_key(name), left)
  redis.call('PUBLISH', prefix .. 'changes', 'inbox:' .. name)
end
-- An instance that is alive may be unknown because Redis has lost its data. All instances register when woken.
if #alive == 0 then redis.call('PUBLISH', prefix .. 'changes', 'all') end
return #alive
