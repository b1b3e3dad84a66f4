//! Sends requests to other servers over HTTP and HTTPS.

use std::str::FromStr as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::NotSent;
use crate::config::Sink;
use crate::{Failure, config, grpc};

/// Maximum size of an answer, in bytes.
const MOST: usize = 1 << 20;

/// A server, and the connections to it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    uri: Uri,
    headers: HeaderMap,
    connections: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    is_grpc: bool,
}

impl Client {
    /// Creates a client for HTTP. `path` applies if the URL has no path.
    pub(crate) fn http(remote: &Sink, path: &str) -> Result<Self, Failure> {
        Self::new(remote, path, false)
    }

    /// Creates a client for gRPC. `path` applies if the URL has no path.
    pub(crate) fn grpc(remote: &Sink, path: &str) -> Result<Self, Failure> {
        Self::new(remote, path, true)
    }

    fn new(remote: &Sink, path: &str, is_grpc: bool) -> Result<Self, Failure> {
        let url = remote.url.as_deref().ok_or("expected the `url` of the sink")?;
        let uri = url.parse::<Uri>().ok();
        let uri =
            uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some());
        let uri =
            uri.ok_or_else(|| format!("{url}: expected http://HOST:PORT/PATH or https://HOST:PORT/PATH"))?;
        let is_bare = uri.path_and_query().is_none_or(|path| path.as_str() == "/");
        let mut parts = uri.into_parts();
        if is_bare {
            parts.path_and_query = Some(path.parse()?);
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            headers.insert(HeaderName::from_str(name)?, HeaderValue::from_str(value)?);
        }
        if let Some(file) = &remote.token_file {
            let value = format!("Bearer {}", config::token(file)?);
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&value)?);
        }
        if is_grpc {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(grpc::KIND));
            headers.insert(hyper::header::TE, HeaderValue::from_static("trailers"));
        }
        let connector =
            hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls(remote)?).https_or_http();
        let connector =
            if is_grpc { connector.enable_http2().build() } else { connector.enable_http1().build() };
        let connections = legacy::Client::builder(TokioExecutor::new()).http2_only(is_grpc).build(connector);
        Ok(Self { uri: Uri::from_parts(parts)?, headers, connections, is_grpc })
    }

    /// Posts a body, or makes a gRPC call with it as the message. Returns the status; that of gRPC as the
    /// closest HTTP status.
    pub(crate) async fn post(&self, body: Bytes, kind: Option<&'static str>) -> Result<StatusCode, Failure> {
        let body = if self.is_grpc { grpc::framed(&body) } else { body };
        let mut request = Request::post(self.uri.clone()).body(Full::new(body))?;
        request.headers_mut().clone_from(&self.headers);
        if let Some(kind) = kind {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        let answer = self.connections.request(request).await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let body = Limited::new(answer.into_body(), MOST).collect().await?;
        if !self.is_grpc || !status.is_success() {
            return Ok(status);
        }
        Ok(match grpc::status(&headers, body.trailers()) {
            Some(0) => StatusCode::OK,
            // Cancelled, deadline exceeded, resource exhausted, aborted, out of range, unavailable, data
            // loss: a retry may succeed.
            Some(1 | 4 | 8 | 10 | 11 | 14 | 15) => StatusCode::SERVICE_UNAVAILABLE,
            Some(7 | 16) => StatusCode::UNAUTHORIZED,
            _ => StatusCode::BAD_REQUEST,
        })
    }

    /// Posts a body, and fails unless the server accepts it. The error says whether a retry may succeed.
    pub(super) async fn send(&self, body: Bytes, kind: Option<&'static str>) -> Result<(), NotSent> {
        match self.post(body, kind).await {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => {
                let message = format!("{}: answered {status}", self.uri);
                let may_pass = matches!(status.as_u16(), 429 | 502 | 503 | 504);
                Err(if may_pass { NotSent::now(message) } else { NotSent::ever(message) })
            }
            Err(error) => {
                let cause = std::iter::successors(error.source(), |error| error.source()).last();
                let cause = cause.map_or_else(|| error.to_string(), ToString::to_string);
                Err(NotSent::now(format!("{}: {cause}", self.uri)))
            }
        }
    }
}

fn tls(remote: &Sink) -> Result<rustls::ClientConfig, Failure> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(file) = &remote.ca_file {
        let place = |error: rustls::pki_types::pem::Error| format!("{}: {error}", file.display());
        for certificate in CertificateDer::pem_file_iter(file).map_err(place)? {
            roots.add(certificate.map_err(place)?)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
