-- ARGV: call. Removes all of its entries.
for _, name in ipairs(redis.call('HKEYS', once_key(ARGV[1]))) do
  remove_entry(ARGV[1], name, load(ARGV[1], name))
end
return 1
