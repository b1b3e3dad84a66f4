//! Sockets: the limit on connections, TLS, and shutdown.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::Failure;
use crate::config::Tls;
use crate::intake::Intake;
use crate::routes::{self, Body};
use crate::stop::Stopped;

/// How long the head of a request, or a TLS handshake, may take. Also the interval of HTTP/2 pings.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Maximum number of bytes that an HTTP/2 client may send before they are read.
const WINDOW: u32 = 256 << 10;
/// Maximum number of concurrent requests on an HTTP/2 connection.
const STREAMS: u32 = 64;

/// The open connections, in the order of their latest requests. If there are too many, the one whose latest
/// request is oldest is closed, so idle clients cannot keep others out.
#[derive(Debug)]
pub(crate) struct Connections {
    most: usize,
    requests: AtomicU64,
    by_latest: Mutex<BTreeMap<u64, AbortHandle>>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), requests: AtomicU64::new(0), by_latest: Mutex::default() }
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, AbortHandle>> {
        self.by_latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts the task of a connection, then closes the connections used least recently while there are too many. The
    /// task owns a [`ConnectionGuard`], which removes the connection from the list when the task ends.
    fn start(&self, place: u64, spawn: impl FnOnce() -> AbortHandle) {
        let mut open = self.lock();
        open.insert(place, spawn());
        while open.len() > self.most
            && let Some((_, oldest)) = open.pop_first()
        {
            oldest.abort();
        }
    }

    /// Makes the connection with this rank the latest, because it has sent a request.
    fn touch(&self, place: &AtomicU64) {
        let mut open = self.lock();
        if let Some(handle) = open.remove(&place.load(Ordering::Relaxed)) {
            let latest = self.next();
            place.store(latest, Ordering::Relaxed);
            open.insert(latest, handle);
        }
    }
}

/// Listens on an address or a name. Prefers the IPv4 addresses of a name.
pub(crate) async fn listen(address: &str) -> Result<TcpListener, Failure> {
    let place = |error: std::io::Error| format!("cannot listen on {address}: {error}");
    let mut found: Vec<_> = tokio::net::lookup_host(address).await.map_err(place)?.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    Ok(TcpListener::bind(found.as_slice()).await.map_err(place)?)
}

/// Creates a TLS acceptor from a certificate and its key.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Failure> {
    let cert = |error| format!("{}: {error}", tls.cert.display());
    let read = CertificateDer::pem_file_iter(&tls.cert).map_err(cert)?;
    let certificates = read.collect::<Result<Vec<_>, _>>().map_err(cert)?;
    let key =
        PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| format!("{}: {error}", tls.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| format!("{}: {error}", tls.cert.display()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Accepts connections until the program is stopped, and serves them until they end or the deadline passes.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    intake: Arc<Intake>,
    connections: Arc<Connections>,
    mut stopped: Stopped,
) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = tasks.join_next(), if !tasks.is_empty() => continue,
            () = stopped.begun() => break,
        };
        let Ok((stream, _)) = accepted else {
            // For instance, no file descriptor is free until another connection ends.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let place = Arc::new(AtomicU64::new(connections.next()));
        let latest = place.load(Ordering::Relaxed);
        let task = connection(
            stream,
            tls.clone(),
            Arc::clone(&intake),
            stopped.clone(),
            Arc::clone(&connections),
            Arc::clone(&place),
        );
        let held = ConnectionGuard { connections: Arc::clone(&connections), place };
        connections.start(latest, || {
            tasks.spawn(async move {
                let _held = held;
                task.await;
            })
        });
    }
    drop(listener);
    tokio::select! {
        () = async { while tasks.join_next().await.is_some() {} } => {}
        () = stopped.expired() => tasks.shutdown().await,
    }
}

/// Removes a connection from the list when it ends.
struct ConnectionGuard {
    connections: Arc<Connections>,
    place: Arc<AtomicU64>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connections.lock().remove(&self.place.load(Ordering::Relaxed));
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    intake: Arc<Intake>,
    stopped: Stopped,
    connections: Arc<Connections>,
    place: Arc<AtomicU64>,
) {
    let _ = stream.set_nodelay(true);
    let answer = move |request| {
        connections.touch(&place);
        routes::answer(Arc::clone(&intake), request)
    };
    match tls {
        None => http(stream, answer, stopped).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
                http(stream, answer, stopped).await;
            }
        }
    }
}

/// Serves a connection over HTTP/1 or HTTP/2, as the client chooses.
async fn http<A: Future<Output = Response<Body>> + Send + 'static>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    answer: impl Fn(Request<Incoming>) -> A,
    mut stopped: Stopped,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(HEAD_TIMEOUT);
    let service = service_fn(|request| {
        let answer = answer(request);
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopped.begun() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
