// The numbers that a client sends of what it has trained.

#ifndef DTNN_COMM_FEDERATION_CLIENT_UPDATE_NUMBERS_H_
#define DTNN_COMM_FEDERATION_CLIENT_UPDATE_NUMBERS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "comm/federation/compression.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/chacha20_stream.h"

namespace dtnn::federation {

// With differential privacy: `parameters`, which were trained from `begin`, as they may be sent
// (MakePrivate), and after them, where the clip adapts, NumberOfBit. `clip`: of the round; 0: as
// the options say. `together`: Protector::together of the round.
absl::StatusOr<std::vector<float>> PrivateUpdate(const Protector& protector, double clip,
                                                 std::span<const float> begin, double factor,
                                                 int together, ChaCha20Stream& random,
                                                 std::span<const float> parameters);

// What is sent where only changes are: of the first `trainable` numbers less `begin`, of running
// statistics, which must not become negative, all.
std::vector<float> DifferenceOf(std::span<const float> parameters, std::span<const float> begin,
                                size_t trainable);

// Error feedback of top-k (../compression.h): adds what a client owes to the parameters that it has
// trained from `begin`, the first of which are trainable, and returns what it owes after it has
// sent them. The sum is rounded as parameters are: by up to 2^-24 of one.
std::vector<float> AddOwed(const Compression& compression, std::span<const float> begin,
                           std::span<const float> owed, std::span<float> parameters);

// The numbers after a model's that hide the metrics in the sum (hidden_metrics.h), whose
// values become 0. Empty where there are none: then metrics that nobody may know are removed.
std::vector<float> HideReport(const Protector& protector, bool plain_metrics, Metrics& metrics);

// Numbers `at` to `at` + out.size() of an update: the parameters, then `hidden`, times `factor`.
void ScaleNumbers(std::span<const float> parameters, std::span<const float> hidden, double factor,
                  size_t at, std::span<float> out);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_CLIENT_UPDATE_NUMBERS_H_
