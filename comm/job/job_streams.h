// How the connections of a job's ranks carry their bytes, as the environment says.

#ifndef DTNN_COMM_JOB_JOB_STREAMS_H_
#define DTNN_COMM_JOB_JOB_STREAMS_H_

#include "absl/status/statusor.h"
#include "comm/job/exit_code.h"
#include "comm/tcp/greeting.h"
#include "comm/tcp/job_environment.h"
#include "comm/tls/tls_stream.h"

namespace dtnn {

// By TLS, or plain (no maker). A certificate that is wrong is a usage error.
inline absl::StatusOr<StreamMaker> StreamsOf(const JobEnvironment& job) {
  if (!job.tls) return StreamMaker();
  absl::StatusOr<StreamMaker> streams = TlsStreams(
      {.certificate = job.tls->certificate, .key = job.tls->key, .authority = job.tls->authority});
  if (!streams.ok()) return WithExitCode(streams.status(), kExitUsage);
  return streams;
}

}  // namespace dtnn

#endif  // DTNN_COMM_JOB_JOB_STREAMS_H_
