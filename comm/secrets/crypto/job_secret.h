// What the ranks of a job know and nobody else does: by it they recognise each other.
//
// The text is hashed at once; only the hash is kept, and overwritten at the end. Where OpenSSL
// cannot compute, every function returns its error: nobody is recognised by chance.

#ifndef DTNN_COMM_SECRETS_CRYPTO_JOB_SECRET_H_
#define DTNN_COMM_SECRETS_CRYPTO_JOB_SECRET_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn {

// 32 bytes that can be computed only with the secret.
using Proof = Hash;

// For this process and those that it starts from then on: the system keeps no copy of their memory
// when they crash, neither in a file nor through a pipe (core_pattern): what there is to be kept is
// nothing (/proc/self/coredump_filter), and the limit of its length (RLIMIT_CORE) is 1, for which
// Linux starts no pipe, either. Each of them may raise both again. Not PR_SET_DUMPABLE, which the
// next program would not inherit, and which would keep MPI from copying between processes.
void KeepFromDumps();

class JobSecret {
 public:
  // At least 32 characters, of any kind: InvalidArgument, without the text, for fewer.
  static absl::StatusOr<JobSecret> Of(std::string_view text);
  // A new one, of random bits, as text.
  static absl::StatusOr<std::string> NewText();

  // Others for a purpose of their own, that say nothing about this one or each other.
  absl::StatusOr<Secret> Derive(std::string_view purpose,
                                std::span<const uint8_t> context = {}) const;
  absl::StatusOr<JobSecret> For(std::string_view purpose) const;

  // HMAC-SHA-256 over the parts, whose lengths the caller has fixed.
  absl::StatusOr<Proof> Prove(std::initializer_list<std::span<const uint8_t>> parts) const;
  // Whether that is the proof of these parts; the time does not depend on where it differs.
  absl::StatusOr<bool> Proves(const Proof& proof,
                              std::initializer_list<std::span<const uint8_t>> parts) const;

 private:
  explicit JobSecret(const Secret& key) : key_(key) {}

  Secret key_;
};

}  // namespace dtnn

#endif  // DTNN_COMM_SECRETS_CRYPTO_JOB_SECRET_H_
