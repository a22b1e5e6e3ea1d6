-- The clock in tests: the last argument.
local clock_us = tonumber(ARGV[#ARGV])
