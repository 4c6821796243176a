// How the updates of clients are protected from the party that adds them (docs/security.md): the
// words of a program, checked and turned into what codecs are made of.

#ifndef DTNN_COMM_FEDERATION_PROTECTION_H_
#define DTNN_COMM_FEDERATION_PROTECTION_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/agreed.h"
#include "comm/federation/privacy/privacy.h"
#include "comm/secrets/ckks/context.h"
#include "comm/secrets/ckks/parameters.h"

namespace dtnn::federation {

enum class Protection : uint8_t {
  kNone,       // plain float32
  kMasked,     // masks that cancel (comm/secrets/masked)
  kSharedKey,  // CKKS with a key that clients share and the aggregator does not have: "tenseal"
  kThreshold,  // CKKS with a key of each round that nobody has alone: "openfhe"
};

struct ProtectionOptions {
  Protection protection = Protection::kNone;
  // Clients with which each one shares masks, at least, and as many as are enough for the clients
  // of a round (comm/secrets/masked/enough_neighbours.h); 0: all others.
  int mask_neighbours = 0;
  int log2_degree = 13;
  std::optional<int> log2_scale = {};  // nothing: 40 with a shared key, 61 with threshold keys
  int security = 128;
  PrivacyOptions privacy = {};
};

// The most updates of a sum: kMostParticipants, or what the protection can hold.
int MostParticipants(const ProtectionOptions& options);
// The most clients of a round: of those, or fewer where the aggregator `holds` what all of them
// send, for robust means, or over gRPC and MQTT before clients may send.
int MostAsked(const ProtectionOptions& options, bool holds);

class Protector {
 public:
  // InvalidArgument for parameters that are not secure, more neighbours than a secret has shares,
  // and for a scale that is too small for threshold keys: `chunks` of them are decrypted in a
  // round.
  static absl::StatusOr<Protector> Create(const ProtectionOptions& options, size_t values);

  Protection protection() const { return options_.protection; }
  const ProtectionOptions& options() const { return options_; }
  // Null without CKKS.
  const std::shared_ptr<const ckks::CkksContext>& context() const { return context_; }
  // Whether the aggregator learns sums.
  bool readable() const { return protection() != Protection::kSharedKey; }
  // Whether all that hides an update from those who read a sum is the other updates.
  bool hides_in_sums() const {
    return protection() == Protection::kMasked || protection() == Protection::kThreshold;
  }
  // Numbers that a client sends: of its model, and, where the aggregator reads sums only, of its
  // metrics (hidden_metrics.h). With noise there are none of these, but, where the clip adapts, the
  // number that says whether the update was short (NumberOfBit).
  size_t sum_values(size_t values) const {
    if (privacy().on()) return values + (privacy().adapts() ? 1 : 0);
    return values + (hides_in_sums() ? 2 * kMostMetrics : 0);
  }
  // Numbers of a chunk, and chunks of an update of so many numbers.
  size_t chunk_values() const;
  size_t chunks(size_t values) const { return (values + chunk_values() - 1) / chunk_values(); }
  const PrivacyOptions& privacy() const { return options_.privacy; }
  // MaskedParameters::neighbours of a sum of so many clients.
  int mask_neighbours(int participants) const;
  // In a sum that `participants` set up, at least so many updates are read together; 1 where the
  // aggregator reads each. A round needs `quorum`.
  int together(int quorum, int participants) const;
  // What both sides must agree on, in words.
  std::string ToString() const;

 private:
  ProtectionOptions options_;
  std::shared_ptr<const ckks::CkksContext> context_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_PROTECTION_H_
