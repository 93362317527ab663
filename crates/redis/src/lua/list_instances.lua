return redis.call('ZRANGEBYSCORE', instances, '(' .. now, '+inf')
