// A certificate and its key, as text for a library of TLS.

#ifndef DTNN_COMM_HTTP_PEM_FILES_H_
#define DTNN_COMM_HTTP_PEM_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "comm/http/http_server.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

struct PemFiles {
  std::string certificate;
  WipedVector<char> key;  // ends in '\0'

  // Those of the options. Errors name the file that cannot be read, is not private, or
  // does not belong to the other.
  static absl::StatusOr<PemFiles> Read(const HttpServerOptions& options);
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_PEM_FILES_H_
