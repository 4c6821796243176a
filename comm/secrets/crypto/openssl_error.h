// What OpenSSL says about its last error, as a Status.

#ifndef DTNN_COMM_SECRETS_CRYPTO_OPENSSL_ERROR_H_
#define DTNN_COMM_SECRETS_CRYPTO_OPENSSL_ERROR_H_

#include <openssl/err.h>

#include <string_view>

#include "absl/status/status.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

// "OpenSSL cannot <what>: <its reason>". Forgets the errors of this thread.
inline absl::Status OpenSslError(std::string_view what) {
  char reason[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, reason, sizeof(reason));
  }
  ERR_clear_error();
  return absl::InternalError(StrCat("OpenSSL cannot ", what, ": ", std::string_view(reason)));
}

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_OPENSSL_ERROR_H_
