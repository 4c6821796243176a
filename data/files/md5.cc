#include "data/files/md5.h"

#include <openssl/evp.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<Digest> Md5(absl::FunctionRef<absl::StatusOr<size_t>(std::span<uint8_t>)> read) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   EVP_MD_CTX_free);
  if (context == nullptr || EVP_DigestInit_ex(context.get(), EVP_md5(), nullptr) != 1) {
    return absl::UnimplementedError("OpenSSL offers no MD5 on this system");
  }
  Digest digest;
  std::vector<uint8_t> buffer(size_t{1} << 18);
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const size_t count, read(buffer));
    EVP_DigestUpdate(context.get(), buffer.data(), count);
    digest.bytes += count;
    if (count < buffer.size()) break;
  }
  uint8_t sum[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), sum, &size);
  for (unsigned i = 0; i < size; ++i) absl::StrAppendFormat(&digest.md5, "%02x", sum[i]);
  return digest;
}

}  // namespace dtnn
