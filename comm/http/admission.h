// Which requests are refused by their headers, before their bodies are read.

#ifndef DTNN_COMM_HTTP_ADMISSION_H_
#define DTNN_COMM_HTTP_ADMISSION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/http/http_message.h"
#include "comm/http/http_server.h"
#include "comm/secrets/crypto/hash.h"

namespace dtnn {

class Admission {
 public:
  // Keeps a hash of the token, not the token, and wipes the options' own.
  static absl::StatusOr<Admission> Create(HttpServerOptions& options);

  // Compares tokens in time that does not depend on them.
  std::optional<HttpAnswer> Refusal(const HttpRequest& request) const;
  HttpAnswer TooLarge() const;

 private:
  Admission(std::vector<std::string> open_paths, size_t body_bytes)
      : open_paths_(std::move(open_paths)), body_bytes_(body_bytes) {}

  std::optional<HttpAnswer> WrongToken(const HttpRequest& request) const;

  std::vector<std::string> open_paths_;
  size_t body_bytes_;
  std::optional<Hash> token_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_HTTP_ADMISSION_H_
