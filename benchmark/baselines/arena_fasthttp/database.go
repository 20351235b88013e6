package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html"
	"log"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

const (
	columns    = "SELECT id, name, category, price, quantity, active, tags, rating_score, rating_count FROM items"
	byPrice    = columns + " WHERE price BETWEEN $1 AND $2 LIMIT $3"
	allOfThem  = "SELECT id, message FROM fortune"
	priceLow   = 10
	priceHigh  = 50
	itemsMax   = 50
	noItems    = `{"items":[],"count":0}`
	added      = "Additional fortune added at request time."
	pageBegin  = "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>"
	pageEnd    = "</table></body></html>"
	pageOctets = 32 << 10
)

var errNoDatabase = errors.New("no database")

// store answers from the database; pool is nil if there is none.
type store struct {
	pool  *pgxpool.Pool
	cache cache
}

type storedItem struct {
	ID       int32           `json:"id"`
	Name     string          `json:"name"`
	Category string          `json:"category"`
	Price    int32           `json:"price"`
	Quantity int32           `json:"quantity"`
	Active   bool            `json:"active"`
	Tags     json.RawMessage `json:"tags"`
	Rating   rating          `json:"rating"`
}

type storedItems struct {
	Items []storedItem `json:"items"`
	Count int          `json:"count"`
}

type fortune struct {
	id      int32
	message string
}

func open(url string, connections int) *store {
	if url == "" {
		return &store{}
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = int32(connections)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	return &store{pool: pool}
}

func (db *store) itemsByPrice(ctx *fasthttp.RequestCtx) {
	low := numberOf(ctx, "min", priceLow)
	high := numberOf(ctx, "max", priceHigh)
	limit := min(max(numberOf(ctx, "limit", itemsMax), 1), itemsMax)
	items, err := db.items(byPrice, low, high, limit)
	if err != nil {
		ctx.SetContentType("application/json")
		ctx.SetBodyString(noItems)
		return
	}
	answerJSON(ctx, storedItems{items, len(items)})
}

func (db *store) items(statement string, parameters ...any) ([]storedItem, error) {
	if db.pool == nil {
		return nil, errNoDatabase
	}
	rows, err := db.pool.Query(context.Background(), statement, parameters...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	items := make([]storedItem, 0, itemsMax)
	for rows.Next() {
		var one storedItem
		err := rows.Scan(&one.ID, &one.Name, &one.Category, &one.Price,
			&one.Quantity, &one.Active, &one.Tags, &one.Rating.Score,
			&one.Rating.Count)
		if err != nil {
			return nil, err
		}
		items = append(items, one)
	}
	return items, rows.Err()
}

// execute gives how many rows a statement has changed.
func (db *store) execute(statement string, parameters ...any) (int64, error) {
	if db.pool == nil {
		return 0, errNoDatabase
	}
	done, err := db.pool.Exec(context.Background(), statement, parameters...)
	return done.RowsAffected(), err
}

func (db *store) fortunes(ctx *fasthttp.RequestCtx) {
	all, err := db.allFortunes()
	if err != nil {
		ctx.Error("", fasthttp.StatusServiceUnavailable)
		return
	}
	all = append(all, fortune{0, added})
	slices.SortFunc(all, func(a, b fortune) int {
		return cmp.Compare(a.message, b.message)
	})
	// As the compiled templates of fasthttp's users write.
	page := append(make([]byte, 0, pageOctets), pageBegin...)
	for _, one := range all {
		page = append(page, "<tr><td>"...)
		page = strconv.AppendInt(page, int64(one.id), 10)
		page = append(page, "</td><td>"...)
		page = append(page, html.EscapeString(one.message)...)
		page = append(page, "</td></tr>"...)
	}
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(append(page, pageEnd...))
}

func (db *store) allFortunes() ([]fortune, error) {
	if db.pool == nil {
		return nil, errNoDatabase
	}
	rows, err := db.pool.Query(context.Background(), allOfThem)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make([]fortune, 0, 256)
	for rows.Next() {
		var one fortune
		if err := rows.Scan(&one.id, &one.message); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// numberOf gives a parameter that is missing or none its default.
func numberOf(ctx *fasthttp.RequestCtx, name string, otherwise int) int {
	text := strings.TrimSpace(string(ctx.QueryArgs().Peek(name)))
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return otherwise
}
