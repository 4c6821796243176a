// The sum of a simulated round: as its protection adds.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/sums/plain_sum.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

class SimulatedSum {
 public:
  // A sum of so many values, of `participants` clients that were asked. A robust mean keeps all
  // updates.
  SimulatedSum(const Protector& protector, const RobustOptions& robust, size_t values,
               int participants);

  // With masks, which cancel, integers modulo 2^32: InvalidArgument for numbers that they cannot
  // hold, of which nothing is added.
  absl::Status Add(std::vector<float> update, double factor);
  // Over all that were added. DataLoss for a mean that no network has. `begin`: the parameters that
  // clients began with.
  absl::StatusOr<std::vector<float>> Mean(std::span<const float> begin) const;

 private:
  const bool masked_;
  const RobustOptions robust_;
  const int participants_;
  double divisor_ = 0;  // the sum of factors
  PlainSum plain_;
  std::vector<std::pair<std::vector<float>, double>> updates_;  // with factors, for robust_
  std::vector<uint32_t> words_, scratch_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_
