// The device that the options ask for. The only place above the kernels that tells devices apart.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_DEVICE_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "kernels/collective/device_collectives.h"
#include "kernels/device/context.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// A rank at `place` gets a GPU of its host: the one with its number there, or, where there are more
// ranks than GPUs, one that it shares. Simulated GPUs belong to a process: every rank has its own.
// A usage error where there is no GPU.
absl::StatusOr<std::unique_ptr<DeviceContext>> MakeDevice(const RunOptions& options,
                                                          const RankPlace& place);

// Whether the libraries of that device make plans, which device.cudnn_plans keeps.
bool MakesPlans(const RunOptions& options);

// With device.nccl, what sums the gradients of ranks on their GPUs; null where ranks exchange
// them in the memory of hosts. All ranks call it together, and agree on the outcome afterwards; the
// context and the communicator, null for one process alone, outlive it. A usage error where the
// GPUs cannot. Null, too, for simulated GPUs of several processes, which share no memory.
absl::StatusOr<std::unique_ptr<DeviceCollectives>> MakeCollectives(const RunOptions& options,
                                                                   Communicator* communicator,
                                                                   DeviceContext& context);

// GPUs that the ranks of a host compute on; 0 without GPUs.
int GpusPerHost(const RunOptions& options, const RankPlace& place);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_DEVICE_H_
