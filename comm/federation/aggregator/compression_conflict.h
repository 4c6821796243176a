// What does not go with compressed updates (../compression.h), and why.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_COMPRESSION_CONFLICT_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_COMPRESSION_CONFLICT_H_

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/compression.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

// What an aggregator, or a simulation, does with updates.
struct UpdateUse {
  StrategyOptions strategy = {};
  ProtectionOptions protection = {};
  bool robust = false;        // a robust mean
  bool buffered = false;      // rounds that do not wait
  bool bounds_norms = false;  // refuses updates that are too long
  bool has_parent = false;    // the aggregator is a client of another one
};

struct CompressionConflict {
  enum class With : uint8_t { kEncryption, kPrivacy, kStrategy, kRobust, kBuffer, kNorm, kParent };
  With with;
  std::string_view why;
};

// The first one; nothing where there is none.
std::optional<CompressionConflict> FindCompressionConflict(const Compression& compression,
                                                           const UpdateUse& use);

// InvalidArgument for one.
absl::Status CheckCompression(const Compression& compression, const UpdateUse& use);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_COMPRESSION_CONFLICT_H_
