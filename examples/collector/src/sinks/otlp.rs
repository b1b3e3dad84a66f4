//! Sends events as OTLP log records over HTTP or gRPC.

use prost::Message as _;
use wrongturn::export::{EvaluationEvent, otlp_logs};

use super::{Client, NotSent};
use crate::config::Sink;
use crate::{Failure, grpc, routes};

/// A client of another collector.
pub(crate) struct Otlp {
    client: Client,
    /// The content type; `None` for gRPC, whose client sets it.
    kind: Option<&'static str>,
}

impl Otlp {
    pub(crate) fn http(remote: &Sink) -> Result<Self, Failure> {
        Ok(Self { client: Client::http(remote, "/v1/logs")?, kind: Some(routes::PROTOBUF) })
    }

    pub(crate) fn grpc(remote: &Sink) -> Result<Self, Failure> {
        Ok(Self { client: Client::grpc(remote, grpc::LOGS)?, kind: None })
    }

    pub(crate) async fn send(&self, events: &[EvaluationEvent]) -> Result<(), NotSent> {
        self.client.send(otlp_logs(events).encode_to_vec().into(), self.kind).await
    }
}
