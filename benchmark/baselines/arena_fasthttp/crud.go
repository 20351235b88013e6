package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	oneByID    = columns + " WHERE id = $1"
	byCategory = columns + " WHERE category = $1 ORDER BY id LIMIT $2 OFFSET $3"
	create     = `INSERT INTO items (id, name, category, price, quantity,
		active, tags, rating_score, rating_count)
		VALUES ($1, $2, $3, $4, $5, true, '[]', 0, 0)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name,
		category = excluded.category, price = excluded.price,
		quantity = excluded.quantity`
	change = `UPDATE items SET name = $2, category = $3, price = $4,
		quantity = $5 WHERE id = $1`
	itemPrefix = "/crud/items/"
	kept       = 200 * time.Millisecond
	pageItems  = 20
	pagesMax   = 1_000_000
	category   = "electronics"
)

// cache keeps the JSON of items for a moment.
type cache struct {
	texts sync.Map
}

type keptText struct {
	text  []byte
	until time.Time
}

func (kept *cache) get(id int) []byte {
	if found, ok := kept.texts.Load(id); ok {
		if one := found.(keptText); time.Now().Before(one.until) {
			return one.text
		}
	}
	return nil
}

func (cache *cache) set(id int, text []byte) {
	cache.texts.Store(id, keptText{text, time.Now().Add(kept)})
}

type changedItem struct {
	ID       int32  `json:"id"`
	Name     string `json:"name"`
	Category string `json:"category"`
	Price    int32  `json:"price"`
	Quantity int32  `json:"quantity"`
}

type itemPage struct {
	Items []storedItem `json:"items"`
	Total int          `json:"total"`
	Page  int          `json:"page"`
	Limit int          `json:"limit"`
}

func (db *store) manyItems(ctx *fasthttp.RequestCtx) {
	if ctx.IsPost() {
		db.createItem(ctx)
		return
	}
	wanted := category
	if named := ctx.QueryArgs().Peek("category"); len(named) > 0 {
		wanted = string(named)
	}
	page := min(max(numberOf(ctx, "page", 1), 1), pagesMax)
	limit := min(max(numberOf(ctx, "limit", pageItems), 1), itemsMax)
	items, err := db.items(byCategory, wanted, limit, (page-1)*limit)
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	answerJSON(ctx, itemPage{items, len(items), page, limit})
}

func (db *store) oneItem(ctx *fasthttp.RequestCtx, text string) {
	id, err := strconv.Atoi(text)
	if err != nil {
		ctx.NotFound()
		return
	}
	if ctx.IsPut() {
		db.changeItem(ctx, id)
		return
	}
	if text := db.cache.get(id); text != nil {
		answerItem(ctx, text, "HIT")
		return
	}
	items, err := db.items(oneByID, id)
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	if len(items) == 0 {
		ctx.NotFound()
		return
	}
	found, err := json.Marshal(items[0])
	if err != nil {
		ctx.Error("", fasthttp.StatusInternalServerError)
		return
	}
	db.cache.set(id, found)
	answerItem(ctx, found, "MISS")
}

func answerItem(ctx *fasthttp.RequestCtx, text []byte, cached string) {
	ctx.SetContentType("application/json")
	ctx.Response.Header.Set("X-Cache", cached)
	ctx.Response.SetBodyRaw(text)
}

func (db *store) changeItem(ctx *fasthttp.RequestCtx, id int) {
	var item changedItem
	if json.Unmarshal(ctx.PostBody(), &item) != nil {
		ctx.Error("", fasthttp.StatusUnprocessableEntity)
		return
	}
	changed, err := db.execute(change,
		id, item.Name, item.Category, item.Price, item.Quantity)
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	db.cache.texts.Delete(id)
	if changed == 0 {
		ctx.NotFound()
		return
	}
	answer(ctx, "changed")
}

func (db *store) createItem(ctx *fasthttp.RequestCtx) {
	var item changedItem
	if json.Unmarshal(ctx.PostBody(), &item) != nil {
		ctx.Error("", fasthttp.StatusUnprocessableEntity)
		return
	}
	_, err := db.execute(create,
		item.ID, item.Name, item.Category, item.Price, item.Quantity)
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	db.cache.texts.Delete(int(item.ID))
	ctx.SetStatusCode(fasthttp.StatusCreated)
	ctx.Response.Header.Set("Location", fmt.Sprintf("%s%d", itemPrefix, item.ID))
}
