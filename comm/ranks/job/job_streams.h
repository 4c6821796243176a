// How the connections of a job's ranks carry their bytes, as the environment says.

#ifndef DTNN_COMM_RANKS_JOB_JOB_STREAMS_H_
#define DTNN_COMM_RANKS_JOB_JOB_STREAMS_H_

#include "absl/status/statusor.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/transport/tcp/stream_maker.h"
#include "comm/transport/tls/tls_stream.h"

namespace dtnn {

// By TLS, or plain (no maker).
inline absl::StatusOr<StreamMaker> StreamsOf(const JobEnvironment& job) {
  if (!job.tls) return StreamMaker();
  return TlsStreams(
      {.certificate = job.tls->certificate, .key = job.tls->key, .authority = job.tls->authority});
}

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_JOB_JOB_STREAMS_H_
