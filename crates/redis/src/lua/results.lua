-- Follows the common beginning in the scripts for large results. An entry in `results` is an id, a size and an owner;
-- entries are ordered by expiry time, at which Redis drops the text by itself.
local results, result_bytes = prefix .. 'results', prefix .. 'result-bytes'
local function result_key(id) return prefix .. 'result:' .. id end

local function used_by_results(scope) return tonumber(redis.call('HGET', result_bytes, scope) or 0) end

local function add_result_bytes(owner, more)
  redis.call('HINCRBY', result_bytes, 'all', more)
  if redis.call('HINCRBY', result_bytes, 'of ' .. owner, more) <= 0 then redis.call('HDEL', result_bytes, 'of ' .. owner) end
end

local function remove_result(entry)
  local id, size, owner = entry:match('^(%S+) (%d+) (.*)$')
  redis.call('DEL', result_key(id))
  redis.call('ZREM', results, entry)
  add_result_bytes(owner, 0 - tonumber(size))
end

-- Removes some of the expired results.
local function sweep_results()
  local expired = redis.call('ZRANGEBYSCORE', results, '-inf', now, 'LIMIT', 0, MAX_SWEPT)
  for _, entry in ipairs(expired) do remove_result(entry) end
end
