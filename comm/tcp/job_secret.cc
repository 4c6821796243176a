#include "comm/tcp/job_secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstdlib>

#include "absl/strings/escaping.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kLeast = 32;

}  // namespace

absl::StatusOr<JobSecret> JobSecret::Of(std::string_view text) {
  if (text.size() < kLeast) {
    return InvalidArgument("the job's secret has ", text.size(), " characters, expected at least ",
                           kLeast, "; `openssl rand -hex 32` makes one");
  }
  return JobSecret(text);
}

std::string JobSecret::NewText() {
  const std::array<char, 32> bits = RandomNonce();
  return absl::BytesToHexString(absl::string_view(bits.data(), bits.size()));
}

Proof JobSecret::Prove(std::initializer_list<std::string_view> parts) const {
  std::string all;
  for (const std::string_view part : parts) all += part;
  Proof proof = {};
  unsigned size = 0;
  HMAC(EVP_sha256(), text_.data(), int(text_.size()),
       reinterpret_cast<const unsigned char*>(all.data()), all.size(),
       reinterpret_cast<unsigned char*>(proof.data()), &size);
  return proof;
}

bool Same(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::array<char, 32> RandomNonce() {
  std::array<char, 32> nonce;
  // Without random numbers nothing here protects anything.
  if (RAND_bytes(reinterpret_cast<unsigned char*>(nonce.data()), int(nonce.size())) != 1) abort();
  return nonce;
}

}  // namespace dtnn
