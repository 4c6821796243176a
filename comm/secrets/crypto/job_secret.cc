#include "comm/secrets/crypto/job_secret.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "absl/strings/escaping.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kLeast = 32;

}  // namespace

void KeepFromDumps() {
  if (std::FILE* const filter = std::fopen("/proc/self/coredump_filter", "we")) {
    std::fputs("0", filter);
    std::fclose(filter);
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(1, limit.rlim_max);
  setrlimit(RLIMIT_CORE, &limit);
}

absl::StatusOr<JobSecret> JobSecret::Of(std::string_view text) {
  if (text.size() < kLeast) {
    return InvalidArgument("the secret has ", text.size(), " characters, expected at least ",
                           kLeast, "; `openssl rand -hex 32` makes one");
  }
  DTNN_ASSIGN_OR_RETURN(const Hash key, Sha256({AsBytes("DTNN job's secret"), AsBytes(text)}));
  return JobSecret(Secret(key));
}

absl::StatusOr<std::string> JobSecret::NewText() {
  DTNN_ASSIGN_OR_RETURN(const Secret bits, RandomSecret());
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bits.bytes().data()), Secret::kSize));
}

absl::StatusOr<Secret> JobSecret::Derive(std::string_view purpose,
                                         std::span<const uint8_t> context) const {
  return DeriveSecret(key_, purpose, context);
}

absl::StatusOr<JobSecret> JobSecret::For(std::string_view purpose) const {
  DTNN_ASSIGN_OR_RETURN(const Secret key, Derive(purpose));
  return JobSecret(key);
}

absl::StatusOr<Proof> JobSecret::Prove(
    std::initializer_list<std::span<const uint8_t>> parts) const {
  return Hmac(key_.bytes(), parts);
}

absl::StatusOr<bool> JobSecret::Proves(
    const Proof& proof, std::initializer_list<std::span<const uint8_t>> parts) const {
  DTNN_ASSIGN_OR_RETURN(const Proof good, Prove(parts));
  return Secret(good).Equals(Secret(proof));
}

}  // namespace dtnn
