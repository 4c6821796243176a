// What went wrong on a TLS connection, in words: which end's certificate, and why.

#ifndef DTNN_COMM_TRANSPORT_TLS_TLS_ERROR_H_
#define DTNN_COMM_TRANSPORT_TLS_TLS_ERROR_H_

#include <openssl/types.h>

#include <string>

#include "absl/status/status.h"

namespace dtnn {

// `error`: what SSL_get_error said, with the system's error then. `other_end`: whom the certificate
// must be for. The queue of OpenSSL's errors holds those of the failed call.
absl::Status TlsError(const SSL* ssl, int error, int system_error, const std::string& other_end);

// The oldest error in OpenSSL's queue, InvalidArgument; empties it.
absl::Status OpenSslReason();

}  // namespace dtnn

#endif  // DTNN_COMM_TRANSPORT_TLS_TLS_ERROR_H_
