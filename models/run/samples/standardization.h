// The statistics that a job standardises by: one set for all its ranks, so that all train the same
// network, and one to be saved with it.

#ifndef DTNN_MODELS_RUN_SAMPLES_STANDARDIZATION_H_
#define DTNN_MODELS_RUN_SAMPLES_STANDARDIZATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "data/loading/channel_statistics.h"

namespace dtnn {

// All ranks call it together. Where they have samples of their own (`own_data`), each computes the
// moments of all of them, else those of its share of the samples that all have: none waits for
// another that reads more. The result is of all samples; of those that all have it does not depend
// on the number of ranks. A rank whose `compute` fails returns that error. The others do not know
// of it and have to agree before they use the result. `communicator`: null for one rank.
absl::StatusOr<ChannelStatistics> StatisticsOfJob(
    Communicator* communicator, bool own_data, int64_t channels,
    absl::FunctionRef<absl::StatusOr<std::vector<Moments>>(const Share&)> compute);

// "mean 0.2860, deviation 0.3530", several channels as 0.49/0.48/0.45.
std::string Describe(const ChannelStatistics& statistics);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SAMPLES_STANDARDIZATION_H_
