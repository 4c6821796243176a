#include "comm/transport/grpc/grpc_secret.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "comm/secrets/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

constexpr size_t kNonceBytes = 32;

std::array<uint8_t, 12> BytesOf(const Instance& who) {
  std::array<uint8_t, 12> bytes;
  StoreLittleEndian(uint32_t(who.rank), bytes.data());
  StoreLittleEndian(who.number, bytes.data() + 4);
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ProveToServer(const JobSecret& secret, const Instance& who,
                                          std::string_view nonce) {
  if (nonce.size() != kNonceBytes) return InvalidArgument("a nonce of ", nonce.size(), " bytes");
  DTNN_ASSIGN_OR_RETURN(const Proof proof, secret.Prove({AsBytes("a rank of the switchboard's"),
                                                         BytesOf(who), AsBytes(nonce)}));
  return std::string(proof.begin(), proof.end());
}

absl::Status CheckProof(const JobSecret& secret, const Instance& who, std::string_view nonce,
                        std::string_view proof) {
  Proof given = {};
  if (proof.size() == given.size()) {
    std::ranges::copy(proof, given.begin());
    DTNN_ASSIGN_OR_RETURN(const bool proves,
                          secret.Proves(given, {AsBytes("a rank of the switchboard's"),
                                                BytesOf(who), AsBytes(nonce)}));
    if (proves) return absl::OkStatus();
  }
  return absl::PermissionDeniedError("it does not know this job's secret");
}

}  // namespace dtnn
