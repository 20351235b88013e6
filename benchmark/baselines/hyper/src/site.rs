//! The files of a site, which hyper serves from memory.

use std::collections::HashMap;
use std::path::Path;

use bytes::Bytes;
use hyper::header::{
    HeaderMap, HeaderValue, ACCEPT_ENCODING, CONTENT_ENCODING, VARY,
};
use hyper::Response;

static BROTLI: HeaderValue = HeaderValue::from_static("br");
static GZIP: HeaderValue = HeaderValue::from_static("gzip");
static VARIES: HeaderValue = HeaderValue::from_static("accept-encoding");

/// The content of each file by its name.
#[derive(Default)]
pub struct Site {
    contents: HashMap<String, Bytes>,
}

impl Site {
    /// Reads the files of a folder, if there is one.
    pub fn load(folder: &Path) -> &'static Self {
        let mut site = Site::default();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Ok(content) = std::fs::read(entry.path()) {
                let name = entry.file_name().to_string_lossy().into_owned();
                site.contents.insert(name, content.into());
            }
        }
        Box::leak(Box::new(site))
    }

    /// Gives a file by the best sibling that the client accepts.
    pub fn find(&self, name: &str, fields: &HeaderMap) -> Option<Content> {
        let accepted = fields.get(ACCEPT_ENCODING);
        let accepted = accepted.and_then(|value| value.to_str().ok());
        let accepts = |coding| {
            let mut codings = accepted.unwrap_or("").split(',');
            codings.any(|one| one.trim() == coding)
        };
        for (coding, ending, value) in
            [("br", ".br", &BROTLI), ("gzip", ".gz", &GZIP)]
        {
            if accepts(coding) {
                let sibling = [name, ending].concat();
                if let Some(octets) = self.contents.get(&sibling) {
                    return Some((octets.clone(), Some(value)));
                }
            }
        }
        self.contents.get(name).map(|octets| (octets.clone(), None))
    }
}

/// Octets, and how they are coded.
pub type Content = (Bytes, Option<&'static HeaderValue>);

/// Says in the head of a response how its content was chosen.
pub fn describe<T>(
    response: &mut Response<T>,
    coding: Option<&'static HeaderValue>,
) {
    let fields = response.headers_mut();
    fields.insert(VARY, VARIES.clone());
    if let Some(coding) = coding {
        fields.insert(CONTENT_ENCODING, coding.clone());
    }
}
