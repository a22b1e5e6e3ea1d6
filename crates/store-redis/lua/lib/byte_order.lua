-- Compares strings by bytes, as sorted sets do. `<` on strings would use the server's locale.
local function is_before(a, b)
  for i = 1, math.min(#a, #b) do
    local of_a, of_b = string.byte(a, i), string.byte(b, i)
    if of_a ~= of_b then
      return of_a < of_b
    end
  end
  return #a < #b
end
