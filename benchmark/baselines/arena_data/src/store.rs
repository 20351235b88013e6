//! The arena's database: what is asked, and the answers' contents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use deadpool_postgres::{
    Client, Manager, ManagerConfig, Pool, RecyclingMethod,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio_postgres::types::{Json, ToSql};
use tokio_postgres::{NoTls, Row};

use crate::{stop, text_of, Options, Rating};

const BY_PRICE: &str = "SELECT id, name, category, price, quantity, active, \
    tags, rating_score, rating_count FROM items \
    WHERE price BETWEEN $1 AND $2 LIMIT $3";
const ONE: &str = "SELECT id, name, category, price, quantity, active, tags, \
    rating_score, rating_count FROM items WHERE id = $1";
const PAGE: &str = "SELECT id, name, category, price, quantity, active, tags, \
    rating_score, rating_count FROM items WHERE category = $1 ORDER BY id \
    LIMIT $2 OFFSET $3";
const CREATE: &str = "INSERT INTO items (id, name, category, price, quantity, \
    active, tags, rating_score, rating_count) \
    VALUES ($1, $2, $3, $4, $5, true, '[]', 0, 0) ON CONFLICT (id) \
    DO UPDATE SET name = excluded.name, category = excluded.category, \
    price = excluded.price, quantity = excluded.quantity";
const CHANGE: &str = "UPDATE items SET name = $2, category = $3, price = $4, \
    quantity = $5 WHERE id = $1";
const FORTUNES: &str = "SELECT id, message FROM fortune";
const ADDED: &str = "Additional fortune added at request time.";
const PAGE_BEGIN: &str = "<!DOCTYPE html><html><head><title>Fortunes</title>\
    </head><body><table><tr><th>id</th><th>message</th></tr>";
const PAGE_END: &str = "</table></body></html>";
const PAGE_OCTETS: usize = 32 << 10;
const PRICE_LOW: i32 = 10;
const PRICE_HIGH: i32 = 50;
const ITEMS_MAX: i32 = 50;
const PAGE_ITEMS: i32 = 20;
const PAGES_MAX: i32 = 1_000_000;
const CATEGORY: &str = "electronics";
const SHARDS: usize = 64;
const KEPT: Duration = Duration::from_millis(200);

/// Says why there is no answer.
pub enum Failure {
    Database,
    Content,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(_: E) -> Self {
        Failure::Database
    }
}

/// Keeps the JSON of items for a moment, for all workers.
pub struct Cache([Mutex<HashMap<i32, (Bytes, Instant)>>; SHARDS]);

impl Default for Cache {
    fn default() -> Self {
        Cache(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Cache {
    fn shard(&self, id: i32) -> &Mutex<HashMap<i32, (Bytes, Instant)>> {
        &self.0[id as usize % SHARDS]
    }

    fn get(&self, id: i32) -> Option<Bytes> {
        let kept = self.shard(id).lock().unwrap();
        let (text, until) = kept.get(&id)?;
        (Instant::now() < *until).then(|| text.clone())
    }

    fn set(&self, id: i32, text: Bytes) {
        let until = Instant::now() + KEPT;
        self.shard(id).lock().unwrap().insert(id, (text, until));
    }

    fn remove(&self, id: i32) {
        self.shard(id).lock().unwrap().remove(&id);
    }
}

#[derive(Serialize)]
struct StoredItem<'a> {
    id: i32,
    name: &'a str,
    category: &'a str,
    price: i32,
    quantity: i32,
    active: bool,
    tags: &'a RawValue,
    rating: Rating,
}

impl<'a> StoredItem<'a> {
    fn of(row: &'a Row) -> Result<Self, tokio_postgres::Error> {
        let Json(tags) = row.try_get(6)?;
        Ok(StoredItem {
            id: row.try_get(0)?,
            name: row.try_get(1)?,
            category: row.try_get(2)?,
            price: row.try_get(3)?,
            quantity: row.try_get(4)?,
            active: row.try_get(5)?,
            tags,
            rating: Rating {
                score: row.try_get::<_, i32>(7)?.into(),
                count: row.try_get::<_, i32>(8)?.into(),
            },
        })
    }
}

#[derive(Serialize)]
struct StoredItems<'a> {
    items: Vec<StoredItem<'a>>,
    count: usize,
}

#[derive(Serialize)]
struct ItemPage<'a> {
    items: Vec<StoredItem<'a>>,
    total: usize,
    page: i32,
    limit: i32,
}

#[derive(Deserialize)]
struct NewItem {
    id: i32,
    #[serde(flatten)]
    rest: ChangedItem,
}

#[derive(Deserialize)]
struct ChangedItem {
    name: String,
    category: String,
    price: i32,
    quantity: i32,
}

/// The database of a worker; none if the program was told of none.
pub struct Store {
    pool: Option<Pool>,
    cache: Arc<Cache>,
}

impl Store {
    /// Makes the worker's pool, or ends the program. It connects when it is
    /// first asked.
    pub fn open(options: &Options, cache: Arc<Cache>) -> Self {
        let pool = options.database.as_deref().map(|url| {
            let config = url
                .parse()
                .unwrap_or_else(|error| stop(&format!("{url}: {error}")));
            let recycling_method = RecyclingMethod::Fast;
            let manager = Manager::from_config(
                config,
                NoTls,
                ManagerConfig { recycling_method },
            );
            Pool::builder(manager)
                .max_size((options.connections / options.workers).max(1))
                .build()
                .expect("no timeouts")
        });
        Store { pool, cache }
    }

    async fn client(&self) -> Result<Client, Failure> {
        let pool = self.pool.as_ref().ok_or(Failure::Database)?;
        Ok(pool.get().await?)
    }

    async fn rows(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let client = self.client().await?;
        let statement = client.prepare_cached(statement).await?;
        Ok(client.query(&statement, parameters).await?)
    }

    async fn execute(
        &self,
        statement: &str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let client = self.client().await?;
        let statement = client.prepare_cached(statement).await?;
        Ok(client.execute(&statement, parameters).await?)
    }

    /// Gives items whose price is in a range as JSON; none if the database
    /// does not answer.
    pub async fn items_by_price(&self, query: &str) -> Vec<u8> {
        let low = number_of(query, "min", PRICE_LOW);
        let high = number_of(query, "max", PRICE_HIGH);
        let limit = number_of(query, "limit", ITEMS_MAX).clamp(1, ITEMS_MAX);
        let rows = self
            .rows(BY_PRICE, &[&low, &high, &i64::from(limit)])
            .await
            .unwrap_or_default();
        let items = items_of(&rows).unwrap_or_default();
        let count = items.len();
        json(&StoredItems { items, count })
    }

    /// Gives a page of a category as JSON.
    pub async fn item_page(&self, query: &str) -> Result<Vec<u8>, Failure> {
        let category = text_of(query, "category").unwrap_or(CATEGORY);
        let page = number_of(query, "page", 1).clamp(1, PAGES_MAX);
        let limit = number_of(query, "limit", PAGE_ITEMS).clamp(1, ITEMS_MAX);
        let offset = i64::from(page - 1) * i64::from(limit);
        let rows =
            self.rows(PAGE, &[&category, &i64::from(limit), &offset]).await?;
        let items = items_of(&rows)?;
        let total = items.len();
        Ok(json(&ItemPage { items, total, page, limit }))
    }

    /// Gives an item as JSON, and what `X-Cache` says of it.
    pub async fn item(
        &self,
        id: i32,
    ) -> Result<Option<(Bytes, &'static str)>, Failure> {
        if let Some(text) = self.cache.get(id) {
            return Ok(Some((text, "HIT")));
        }
        let rows = self.rows(ONE, &[&id]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let text = Bytes::from(json(&StoredItem::of(row)?));
        self.cache.set(id, text.clone());
        Ok(Some((text, "MISS")))
    }

    /// Changes an item; tells whether there is one.
    pub async fn change(
        &self,
        id: i32,
        content: &[u8],
    ) -> Result<bool, Failure> {
        let item: ChangedItem =
            serde_json::from_slice(content).map_err(|_| Failure::Content)?;
        let ChangedItem { name, category, price, quantity } = &item;
        let changed = self
            .execute(CHANGE, &[&id, name, category, price, quantity])
            .await?;
        self.cache.remove(id);
        Ok(changed > 0)
    }

    /// Creates or changes an item; gives its number.
    pub async fn create(&self, content: &[u8]) -> Result<i32, Failure> {
        let NewItem { id, rest: item } =
            serde_json::from_slice(content).map_err(|_| Failure::Content)?;
        let ChangedItem { name, category, price, quantity } = &item;
        self.execute(CREATE, &[&id, name, category, price, quantity]).await?;
        self.cache.remove(id);
        Ok(id)
    }

    /// Gives the page with all sayings and one more.
    pub async fn fortunes(&self) -> Result<String, Failure> {
        let rows = self.rows(FORTUNES, &[]).await?;
        let mut all: Vec<(i32, &str)> = vec![(0, ADDED)];
        for row in &rows {
            all.push((row.try_get(0)?, row.try_get(1)?));
        }
        all.sort_unstable_by_key(|(_, message)| *message);
        Ok(fortune_page(&all))
    }
}

/// Writes as a compiled template does.
fn fortune_page(all: &[(i32, &str)]) -> String {
    let mut page = String::with_capacity(PAGE_OCTETS);
    page.push_str(PAGE_BEGIN);
    for (id, message) in all {
        page.push_str("<tr><td>");
        page.push_str(&id.to_string());
        page.push_str("</td><td>");
        push_escaped(&mut page, message);
        page.push_str("</td></tr>");
    }
    page.push_str(PAGE_END);
    page
}

fn push_escaped(page: &mut String, text: &str) {
    let mut from = 0;
    for (at, octet) in text.bytes().enumerate() {
        let escaped = match octet {
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'&' => "&amp;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        page.push_str(&text[from..at]);
        page.push_str(escaped);
        from = at + 1;
    }
    page.push_str(&text[from..]);
}

fn items_of(
    rows: &[Row],
) -> Result<Vec<StoredItem<'_>>, tokio_postgres::Error> {
    rows.iter().map(StoredItem::of).collect()
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("numbers and texts")
}

/// Gives a parameter that is missing or none its default.
fn number_of(query: &str, name: &str, default: i32) -> i32 {
    let found = text_of(query, name).and_then(|text| text.parse::<i64>().ok());
    found.map_or(default, |number| {
        number.clamp(i32::MIN.into(), i32::MAX.into()) as i32
    })
}
