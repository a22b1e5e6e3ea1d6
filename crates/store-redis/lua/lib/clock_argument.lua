-- A clock that tests move: the last argument.
local clock_us = tonumber(ARGV[#ARGV])
