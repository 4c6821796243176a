// The collectives of NVIDIA's GPUs, by NCCL: see device_collectives.h. Only with --config=cuda.

#ifndef DTNN_KERNELS_COLLECTIVE_NCCL_COLLECTIVES_H_
#define DTNN_KERNELS_COLLECTIVE_NCCL_COLLECTIVES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "kernels/collective/device_collectives.h"

namespace dtnn {

absl::StatusOr<CollectiveId> NewNcclId();
// Waits for all ranks, up to the timeout.
absl::StatusOr<std::unique_ptr<DeviceCollectives>> CreateNcclCollectives(
    DeviceContext& context, const CollectiveId& id, const CollectivePlace& place);

}  // namespace dtnn

#endif  // DTNN_KERNELS_COLLECTIVE_NCCL_COLLECTIVES_H_
