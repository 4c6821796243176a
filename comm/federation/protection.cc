#include "comm/federation/protection.h"

#include <algorithm>
#include <utility>

#include "comm/secrets/ckks/threshold.h"
#include "comm/secrets/crypto/shamir.h"
#include "comm/secrets/masked/enough_neighbours.h"
#include "comm/secrets/masked/masked_parameters.h"
#include "tensor/errors.h"

namespace dtnn::federation {
namespace {

constexpr size_t kPlainChunk = size_t{1} << 16;
// A ciphertext is made for the sum of so many.
constexpr int kMostCiphertexts = 64;
// Updates of a round that an aggregator holds at the same time.
constexpr int kMostHeld = 64;

}  // namespace

int MostParticipants(const ProtectionOptions& options) {
  switch (options.protection) {
    case Protection::kNone:
      break;
    case Protection::kMasked:
      // Each client has a share of the secrets of each other one, or of its neighbours'.
      return options.mask_neighbours == 0 ? kMaxShares : masked::kMostMasked;
    case Protection::kSharedKey:
    case Protection::kThreshold:
      return kMostCiphertexts;
  }
  return kMostParticipants;
}

int MostAsked(const ProtectionOptions& options, bool holds) {
  const int most = MostParticipants(options);
  return holds ? std::min(most, kMostHeld) : most;
}

absl::StatusOr<Protector> Protector::Create(const ProtectionOptions& options, size_t values) {
  Protector protector;
  DTNN_RETURN_IF_ERROR(Validate(options.privacy));
  if (options.privacy.adapts() && options.protection == Protection::kSharedKey) {
    return absl::InvalidArgumentError(
        "a clip that adapts needs the mean of what clients say of their updates, which only "
        "clients can read where they share a key");
  }
  protector.options_ = options;
  if (options.mask_neighbours < 0 || options.mask_neighbours >= kMaxShares) {
    return InvalidArgument("masks with ", options.mask_neighbours,
                           " neighbours at least: expected 0, which is all others, to ",
                           kMaxShares - 1);
  }
  if (options.protection == Protection::kNone || options.protection == Protection::kMasked) {
    return protector;
  }
  const bool threshold = options.protection == Protection::kThreshold;
  ckks::CkksParameters ckks = threshold ? ckks::DefaultThresholdCkks() : ckks::CkksParameters();
  ckks.log2_degree = options.log2_degree;
  if (options.log2_scale) ckks.log2_scale = *options.log2_scale;
  ckks.security = options.security;
  DTNN_RETURN_IF_ERROR(Validate(ckks));
  DTNN_ASSIGN_OR_RETURN(protector.context_, ckks::CkksContext::Create(ckks));
  if (threshold) {
    DTNN_RETURN_IF_ERROR(ValidateThreshold(
        ckks, {.clients = kMostCiphertexts,
               .decryptions =
                   std::max<int64_t>(1, int64_t(protector.chunks(protector.sum_values(values))))}));
  }
  return protector;
}

size_t Protector::chunk_values() const {
  return context_ == nullptr ? kPlainChunk : context_->parameters().values();
}

int Protector::mask_neighbours(int participants) const {
  if (options_.mask_neighbours == 0) return 0;
  const int even = (options_.mask_neighbours + 1) / 2 * 2;
  const int neighbours = std::max(even, masked::EnoughNeighbours(participants));
  return neighbours < participants - 1 ? neighbours : 0;
}

int Protector::together(int quorum, int participants) const {
  switch (protection()) {
    case Protection::kNone:
      break;
    case Protection::kMasked:
      return std::max(quorum, masked::MaskedParameters{.clients = participants,
                                                       .neighbours = mask_neighbours(participants)}
                                  .least());
    case Protection::kSharedKey:
      return quorum;
    case Protection::kThreshold:
      return participants;
  }
  return 1;
}

std::string Protector::ToString() const {
  const auto words = [this]() -> std::string {
    switch (protection()) {
      case Protection::kNone:
        return "no encryption";
      case Protection::kMasked:
        if (options_.mask_neighbours == 0) return "masks";
        return StrCat("masks with ", options_.mask_neighbours, " neighbours or more");
      case Protection::kSharedKey:
        return StrCat("CKKS with a key that clients share, ", context_->parameters().ToString());
      case Protection::kThreshold:
        break;
    }
    return StrCat("CKKS with threshold keys, ", context_->parameters().ToString());
  };
  if (!privacy().on()) return words();
  return StrCat(words(), ", ", privacy().ToString());
}

}  // namespace dtnn::federation
