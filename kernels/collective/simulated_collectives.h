// The collectives of simulated GPUs: see device_collectives.h.

#ifndef DTNN_KERNELS_COLLECTIVE_SIMULATED_COLLECTIVES_H_
#define DTNN_KERNELS_COLLECTIVE_SIMULATED_COLLECTIVES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/collective/device_collectives.h"

namespace dtnn {

CollectiveId NewSimulatedCollectiveId();
// FailedPrecondition for the id of another process.
absl::StatusOr<std::unique_ptr<DeviceCollectives>> CreateSimulatedCollectives(
    DeviceContext& context, const CollectiveId& id, const CollectivePlace& place);

}  // namespace dtnn

#endif  // DTNN_KERNELS_COLLECTIVE_SIMULATED_COLLECTIVES_H_
