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

local json_fields = { ["Content-Type"] = "application/json" }
local created = 100000
local categories = {
  "electronics", "clothing", "home", "sports", "toys",
  "books", "food", "beauty", "tools", "office"
}

-- An item as the table has it: what is changed stays as it was.
local function item_of(number)
  return string.format(
    '{"id":%d,"name":"Item %d","category":"%s","price":%d,"quantity":%d}',
    number, number, categories[number % 10 + 1], number * 37 % 500 + 1,
    number * 11 % 97
  )
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
  async_db = function()
    for _, limit in ipairs { 5, 10, 20, 35, 50 } do
      add("GET", "/async-db?min=10&max=50&limit=" .. limit)
    end
  end,
  api = function()
    for _ = 1, 3 do add("GET", "/baseline11?a=13&b=42") end
    for _ = 1, 3 do add("GET", "/json/50?m=1") end
    for _ = 1, 2 do add("GET", "/async-db?min=10&max=50&limit=50") end
  end,
  fortunes = function() add("GET", "/fortunes") end,
  crud = function()
    -- 20,000 requests, whose numbers are drawn beforehand.
    for _ = 1, 1000 do
      for _ = 1, 15 do
        add("GET", string.format("/crud/items/%05d", math.random(1, 50000)))
      end
      for _ = 1, 3 do
        local number = math.random(1, 50000)
        local path = string.format("/crud/items/%05d", number)
        add("PUT", path, json_fields, item_of(number))
      end
      local page = string.format("%02d", math.random(1, 10))
      add("GET", "/crud/items?category=office&limit=10&page=" .. page)
      created = created + 1
      add("POST", "/crud/items", json_fields, item_of(created))
    end
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
