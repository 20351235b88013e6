package catalogue

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	oneProduct  = "SELECT text FROM products WHERE id = $1"
	fewProducts = "SELECT text FROM products WHERE id >= $1 AND id < $2 ORDER BY id"
	manyPrices  = "SELECT id, price, brand FROM products WHERE id = ANY($1)"
	connections = 32
	listOctets  = 128 << 10
)

// stored reads the products of a database.
type stored struct {
	turns
	pool  *pgxpool.Pool
	count int
}

func openStored(options Options) *stored {
	config, err := pgxpool.ParseConfig(options.Database)
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = connections
	if options.Prefork {
		config.MaxConns = int32(max(1, connections/options.Workers))
	}
	background := context.Background()
	pool, err := pgxpool.NewWithConfig(background, config)
	if err != nil {
		log.Fatal(err)
	}
	stored := &stored{pool: pool}
	stored.generator.Store(generatorSeed)
	row := pool.QueryRow(background, "SELECT count(*) FROM products")
	if err := row.Scan(&stored.count); err != nil {
		log.Fatal(err)
	}
	return stored
}

func (stored *stored) Product() (text []byte, err error) {
	number := (stored.read.Add(1) - 1) % uint64(stored.count)
	row := stored.pool.QueryRow(context.Background(), oneProduct, number)
	err = row.Scan(&text)
	return text, err
}

func (stored *stored) List() ([]byte, error) {
	lists := uint64(stored.count / listLength)
	begin := (stored.list.Add(1) - 1) % lists * listLength
	rows, err := stored.pool.Query(
		context.Background(), fewProducts, begin, begin+listLength)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := make([]byte, 0, listOctets)
	for rows.Next() {
		// The next row takes the place of these octets.
		list = append(append(list, ','), rows.RawValues()[0]...)
	}
	if len(list) == 0 {
		return []byte("[]"), rows.Err()
	}
	list[0] = '['
	return append(list, ']'), rows.Err()
}

func (stored *stored) Statistics() ([]byte, error) {
	numbers := stored.draw(stored.count)
	rows, err := stored.pool.Query(
		context.Background(), manyPrices, numbers[:])
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make([]priced, stored.count)
	known := make(map[string]int)
	var brands []string
	for rows.Next() {
		var id int
		var price float64
		var brand string
		if err := rows.Scan(&id, &price, &brand); err != nil {
			return nil, err
		}
		place, ok := known[brand]
		if !ok {
			place = len(brands)
			known[brand] = place
			brands = append(brands, brand)
		}
		found[id] = priced{price, place}
	}
	if rows.Err() != nil {
		return nil, rows.Err()
	}
	var picks [pickCount]priced
	for i, number := range numbers {
		picks[i] = found[number]
	}
	return summedUp(&picks, brands)
}
