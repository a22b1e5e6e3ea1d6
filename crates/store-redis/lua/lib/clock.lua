-- The store's clock: Redis TIME, read once per call.
local time = redis.call('TIME')
local clock_us = time[1] * 1000000 + time[2]
