// What the clients of a round multiply their parameters by before these are added, and how well
// such a sum hides one of them. The aggregator tells every client the samples of all; each client
// computes its own factor, so that nobody can be talked into drowning in the update of another.
//
// A sum of one update with factor 1 and of others with factors near 0 is that one update, however
// many take part. The effective number (sum f)^2 / sum f^2 (Kish, "Survey sampling", 1965) is the
// number of clients with equal factors that hide each other as well: n where all are equal, near 1
// where one counts for all.

#ifndef DTNN_COMM_FEDERATION_FACTORS_H_
#define DTNN_COMM_FEDERATION_FACTORS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/messages.h"
#include "comm/model_sync.h"

namespace dtnn::federation {

// The weight of each client over the largest one, so at most 1 and above 0; with `steps`, of as
// many clients and each at least 1, weights are divided by them before. The average is the sum
// of what was sent over the sum of these factors, of the clients that have answered. `samples`: of
// the clients that were asked, each at least 1. `clients`: that stand behind each, where some are
// aggregators; equal weights are multiplied by them.
std::vector<double> ClientFactors(RankWeighting weighting, std::span<const int64_t> samples,
                                  std::span<const int64_t> steps = {},
                                  std::span<const int64_t> clients = {});

// By what the factor of an aggregator that is a client is multiplied, where it has said that it
// averages `told`, and only `answered` have answered it.
double ShareOfGroup(RankWeighting weighting, const GroupSize& told, const GroupSize& answered);

// A plain update has at least this weight, relative to the largest that was asked: its error is at
// most 2^-46 before the division by all weights, and 2^-26 after it.
inline constexpr double kLeastPlainWeight = 0x1p-20;

double EffectiveNumber(std::span<const double> factors);

// FailedPrecondition where the effective number of these factors is below `least`.
absl::Status CheckHidden(std::span<const double> factors, double least);

// FailedPrecondition where the factors of the clients that are left add up to so little that a sum
// of integers or ciphertexts, which has a fixed number of bits, would be lost in its rounding.
absl::Status CheckWeightLeft(double sum);
// The same for the plain sum of so many updates (aggregator/plain_sum.h), which has more bits.
absl::Status CheckPlainWeightLeft(double sum, size_t updates);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_FACTORS_H_
