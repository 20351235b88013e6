-- wrk -s arena.lua URL -- PROFILE: the requests of a profile in turn.
-- benchmark/driver/arena.py knows the right answers.
local requests = {}
local next_request = 0

local function add(method, path, fields, content)
  requests[#requests + 1] = wrk.format(method, path, fields, content)
end

local function add_pages(pages, fields)
  for _, page in ipairs(pages) do
    add("GET", "/json/" .. page[1] .. "?m=" .. page[2], fields)
  end
end

local profiles = {
  baseline = function()
    local path = "/baseline11?a=13&b=42"
    add("GET", path)
    add("POST", path, nil, "20")
    -- wrk writes no chunks: a head without a length, and what follows it.
    requests[3] = "POST " .. path .. " HTTP/1.1\r\nHost: localhost:8080\r\n"
      .. "Transfer-Encoding: chunked\r\n\r\n2\r\n20\r\n0\r\n\r\n"
  end,
  json = function()
    add_pages {
      { 1, 3 }, { 5, 7 }, { 10, 2 }, { 15, 5 }, { 25, 4 }, { 40, 8 }, { 50, 6 }
    }
  end,
  json_compressed = function()
    add_pages(
      { { 25, 4 }, { 40, 8 }, { 50, 6 } },
      { ["Accept-Encoding"] = "gzip, br" }
    )
  end,
  echo = function()
    local fields = { ["Content-Type"] = "application/octet-stream" }
    add("POST", "/echo", fields, string.rep("x", 10240))
  end
}

init = function(arguments)
  wrk.headers["Host"] = "localhost:8080"
  local profile = profiles[arguments[1]]
  if not profile then error("arena.lua: name a profile behind --") end
  profile()
end

request = function()
  next_request = next_request % #requests + 1
  return requests[next_request]
end
