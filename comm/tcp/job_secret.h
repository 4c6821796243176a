// What the ranks of a job know and nobody else does: by it they recognise each other.

#ifndef DTNN_COMM_TCP_JOB_SECRET_H_
#define DTNN_COMM_TCP_JOB_SECRET_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace dtnn {

// 32 bytes, that only who knows the secret can compute.
using Proof = std::array<char, 32>;

class JobSecret {
 public:
  // At least 32 characters, of any kind: InvalidArgument, without the text, for fewer.
  static absl::StatusOr<JobSecret> Of(std::string_view text);
  // A new one, of random bits, as text.
  static std::string NewText();

  // HMAC-SHA-256 over the parts, whose lengths the caller has fixed.
  Proof Prove(std::initializer_list<std::string_view> parts) const;

 private:
  explicit JobSecret(std::string_view text) : text_(text) {}

  std::string text_;
};

// In a time that does not depend on where they differ.
bool Same(const Proof& a, const Proof& b);

// Of a generator for secrets.
std::array<char, 32> RandomNonce();

}  // namespace dtnn

#endif  // DTNN_COMM_TCP_JOB_SECRET_H_
