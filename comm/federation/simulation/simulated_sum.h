// The sum of a simulated round: as its protection adds.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/plain_sum.h"
#include "comm/federation/protection.h"

namespace dtnn::federation {

class SimulatedSum {
 public:
  // A sum of so many values, of `participants` clients that were asked.
  SimulatedSum(const Protector& protector, size_t values, int participants);

  // With masks, which cancel, integers modulo 2^32: InvalidArgument for numbers that they cannot
  // hold, of which nothing is added.
  absl::Status Add(std::span<const float> update);
  // DataLoss for a mean that no network has.
  absl::StatusOr<std::vector<float>> Mean(double divisor) const;

 private:
  const bool masked_;
  const int participants_;
  PlainSum plain_;
  std::vector<uint32_t> words_, scratch_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATED_SUM_H_
