#include "comm/http/pem_files.h"

#include <cstddef>
#include <vector>

#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/atomic_file.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = 1 << 20;

}  // namespace

absl::StatusOr<PemFiles> PemFiles::Read(const HttpServerOptions& options) {
  PemFiles files;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> certificate,
                        ReadFile(options.certificate_file, kMostBytes));
  files.certificate.assign(reinterpret_cast<const char*>(certificate.data()), certificate.size());
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> key, ReadPrivateFile(options.key_file, kMostBytes));
  const char* const text = reinterpret_cast<const char*>(key.data());
  files.key.assign(text, text + key.size());
  files.key.push_back('\0');
  OPENSSL_cleanse(key.data(), key.size());
  return files;
}

}  // namespace dtnn
