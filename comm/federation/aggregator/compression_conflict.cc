#include "comm/federation/aggregator/compression_conflict.h"

#include <string>

#include "tensor/errors.h"

namespace dtnn::federation {

std::optional<CompressionConflict> FindCompressionConflict(const Compression& compression,
                                                           const UpdateUse& use) {
  using enum CompressionConflict::With;
  if (!compression.on()) return std::nullopt;
  if (use.protection.protection != Protection::kNone) {
    return CompressionConflict{
        kEncryption,
        "what is added under masks or encrypted has its full size, whatever the numbers are"};
  }
  if (use.protection.privacy.on()) {
    return CompressionConflict{
        kPrivacy,
        "noise is added last, and to every number, after which there is nothing to compress"};
  }
  if (use.strategy.controls()) {
    return CompressionConflict{kStrategy,
                               "the aggregator's control variate must stay the mean of the "
                               "clients' own, and what compression loses would stay in it"};
  }
  if (!compression.owes()) return std::nullopt;
  if (use.robust) {
    return CompressionConflict{kRobust,
                               "of each number most clients send nothing, so that an update which "
                               "says something of it looks like a lie"};
  }
  if (use.buffered) {
    return CompressionConflict{kBuffer,
                               "what clients have not sent follows the rounds that use their "
                               "updates, and an update of a buffer begins in one round and is used "
                               "in another"};
  }
  if (use.bounds_norms) {
    return CompressionConflict{kNorm,
                               "an update that is refused stays with its client, whose next one is "
                               "longer, so that an honest client would be refused for good"};
  }
  if (use.has_parent) {
    return CompressionConflict{kParent,
                               "clients keep what they have not sent, and could not learn whether "
                               "the parent has used the rest"};
  }
  return std::nullopt;
}

absl::Status CheckCompression(const Compression& compression, const UpdateUse& use) {
  if (!IsValid(compression)) {
    return InvalidArgument("compressed updates: a fraction of ", compression.fraction,
                           " of the numbers: expected more than 0, a half at most");
  }
  const auto conflict = FindCompressionConflict(compression, use);
  if (!conflict) return absl::OkStatus();
  const std::string strategy = StrCat("strategy ", Name(use.strategy.strategy));
  const std::string_view with[] = {"encryption",   "differential privacy",    strategy,
                                   "robust means", "rounds that do not wait", "a bound of norms",
                                   "a parent"};
  return InvalidArgument(compression.owes() ? "top-k updates" : "compressed updates", ": not with ",
                         with[size_t(conflict->with)], ": ", conflict->why);
}

}  // namespace dtnn::federation
