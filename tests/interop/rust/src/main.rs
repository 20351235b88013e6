//! Holds the conversation of tests/interop/README.md with tokio-tungstenite, which
//! has no compression.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{accept_hdr_async, client_async, WebSocketStream};

const SIZES: [usize; 7] = [0, 5, 125, 126, 65_535, 65_536, 1 << 20];
const PARTS: [&str; 4] = ["é", "", "漢字", "😀"];
const PROTOCOL: &str = "sec-websocket-protocol";
const EXTENSIONS: &str = "sec-websocket-extensions";

type Failure = Box<dyn std::error::Error>;

/// What is read and written, plainly or inside of TLS.
trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Transport for T {}

type Socket = WebSocketStream<Box<dyn Transport>>;

fn text_of(size: usize) -> String {
    (0..size).map(|i| (97 + i * 7 % 26) as u8 as char).collect()
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Failure> {
    if found == wanted {
        return Ok(());
    }
    let text: String = format!("{found:?}").chars().take(80).collect();
    Err(format!("{what}: {text}").into())
}

async fn send_parts(socket: &mut Socket) -> Result<(), Failure> {
    for (i, part) in PARTS.iter().enumerate() {
        let kind = if i == 0 { Data::Text } else { Data::Continue };
        let is_last = i == PARTS.len() - 1;
        let frame = Frame::message(part.as_bytes().to_vec(), OpCode::Data(kind), is_last);
        socket.send(Message::Frame(frame)).await?;
    }
    Ok(())
}

/// Gives the next message that is no ping; the library answers those.
async fn next(socket: &mut Socket) -> Result<Message, Failure> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Ping(_))) => {}
            Some(message) => return Ok(message?),
            None => return Err("the peer has gone".into()),
        }
    }
}

async fn expect_text(socket: &mut Socket, wanted: &str) -> Result<(), Failure> {
    let message = next(socket).await?;
    expect("text", message, Message::text(wanted))
}

fn close_of(code: u16, reason: &'static str) -> Message {
    Message::Close(Some(CloseFrame { code: CloseCode::from(code), reason: reason.into() }))
}

async fn open(url: &str, authority: Option<&String>) -> Result<Socket, Failure> {
    let place = url.split("://").nth(1).unwrap_or("").trim_end_matches('/');
    let host = place.split(':').next().unwrap_or("").to_string();
    let stream = TcpStream::connect(place).await?;
    stream.set_nodelay(true)?;
    let transport: Box<dyn Transport> = match authority {
        None => Box::new(stream),
        Some(path) => {
            let mut authorities = RootCertStore::empty();
            for each in CertificateDer::pem_file_iter(path)? {
                authorities.add(each?)?;
            }
            let config = ClientConfig::builder()
                .with_root_certificates(authorities)
                .with_no_client_auth();
            let connector = TlsConnector::from(Arc::new(config));
            Box::new(connector.connect(ServerName::try_from(host)?, stream).await?)
        }
    };
    let mut request = url.into_client_request()?;
    let offered = HeaderValue::from_static("v1.test, v2.test");
    request.headers_mut().insert(PROTOCOL, offered);
    let (socket, response) = client_async(request, transport).await?;
    let chosen = response.headers().get(PROTOCOL).map(|x| x.as_bytes().to_vec());
    expect("protocol", chosen, Some(b"v2.test".to_vec()))?;
    expect("compression", response.headers().contains_key(EXTENSIONS), false)?;
    Ok(socket)
}

async fn converse(url: &str, authority: Option<&String>) -> Result<(), Failure> {
    let mut socket = open(url, authority).await?;
    for size in SIZES {
        let text = text_of(size);
        socket.send(Message::text(text.clone())).await?;
        expect_text(&mut socket, &text).await?;
        socket.send(Message::binary(text.clone().into_bytes())).await?;
        let message = next(&mut socket).await?;
        expect("octets", message, Message::binary(text.into_bytes()))?;
    }
    send_parts(&mut socket).await?;
    expect_text(&mut socket, &PARTS.concat()).await?;
    socket.send(Message::text("fragments")).await?;
    expect_text(&mut socket, &PARTS.concat()).await?;
    socket.send(Message::Ping("are you there".into())).await?;
    let pong = next(&mut socket).await?;
    expect("pong", pong, Message::Pong("are you there".into()))?;
    socket.send(Message::text("ping")).await?;
    expect_text(&mut socket, "pong").await?;
    socket.send(close_of(4321, "enough")).await?;
    match next(&mut socket).await? {
        Message::Close(Some(frame)) => expect("code", u16::from(frame.code), 4321)?,
        other => return Err(format!("no Close, but {other:?}").into()),
    }
    socket = open(url, authority).await?;
    socket.send(Message::text("close")).await?;
    let closed = next(&mut socket).await?;
    expect("Close", closed, close_of(4567, "done"))?;
    // The library sends its answer while it is asked for more.
    while let Some(Ok(_)) = socket.next().await {}
    println!("ok");
    Ok(())
}

async fn answer(socket: &mut Socket) -> Result<(), Failure> {
    loop {
        let message = next(socket).await?;
        match message {
            Message::Close(frame) => {
                let (code, reason) =
                    frame.map_or((1005, String::new()), |x| (u16::from(x.code), x.reason.to_string()));
                println!("closed {code} {reason}");
                while let Some(Ok(_)) = socket.next().await {}
                return Ok(());
            }
            Message::Pong(_) => socket.send(Message::text("pong")).await?,
            Message::Text(text) if text.as_str() == "fragments" => send_parts(socket).await?,
            Message::Text(text) if text.as_str() == "ping" => {
                socket.send(Message::Ping("are you there".into())).await?
            }
            Message::Text(text) if text.as_str() == "close" => {
                socket.send(close_of(4567, "done")).await?
            }
            other => socket.send(other).await?,
        }
    }
}

#[allow(clippy::result_large_err)]
fn choose(
    request: &Request,
    mut response: Response,
) -> Result<Response, tokio_tungstenite::tungstenite::handshake::server::ErrorResponse> {
    let offered = request.headers().get(PROTOCOL).map_or(&b""[..], |x| x.as_bytes());
    if offered.windows(7).any(|x| x == b"v2.test") {
        response.headers_mut().insert(PROTOCOL, HeaderValue::from_static("v2.test"));
    }
    Ok(response)
}

async fn serve_one(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    let transport: Box<dyn Transport> = match acceptor {
        None => Box::new(stream),
        Some(acceptor) => Box::new(acceptor.accept(stream).await?),
    };
    answer(&mut accept_hdr_async(transport, choose).await?).await
}

async fn serve(folder: Option<&String>) -> Result<(), Failure> {
    let mut acceptor = None;
    if let Some(folder) = folder {
        let chain = CertificateDer::pem_file_iter(format!("{folder}/server.pem"))?
            .collect::<Result<Vec<_>, _>>()?;
        let key = PrivateKeyDer::from_pem_file(format!("{folder}/server.key"))?;
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        acceptor = Some(TlsAcceptor::from(Arc::new(config)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = serve_one(stream, acceptor).await {
                eprintln!("{error}");
            }
        });
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments[0] == "server" {
        return tokio::task::LocalSet::new().run_until(serve(arguments.get(2))).await;
    }
    converse(&arguments[1], arguments.get(3)).await
}
