// Private keys of Ed25519 in files, in PEM form, as `openssl genpkey -algorithm ed25519` writes
// them.

#ifndef DTNN_COMM_SECRETS_CRYPTO_ED25519_FILE_H_
#define DTNN_COMM_SECRETS_CRYPTO_ED25519_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

// The errors of ReadPrivateFile (tensor/files/access/private_file.h); InvalidArgument, naming the
// file, for what is not such a key, or has a passphrase.
absl::StatusOr<Secret> ReadEd25519File(const std::string& path);

// A file that only its owner may read; what is there is replaced.
absl::Status WriteEd25519File(const std::string& path, const Secret& private_key);

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_ED25519_FILE_H_
