#include "models/run/parts/make_device.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "comm/gather_values.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/nccl/join_collectives.h"
#include "kernels/device/math_mode.h"
#include "tensor/errors.h"
#include "tensor/gpu/open_gpus.h"

namespace dtnn {
namespace {

bool Simulated(const RunOptions& options) { return options.device.gpu_device == "simulated"; }

// 0 where they cannot be counted: opening one then says why.
int CudaGpus() { return gpu::CountGpus(DeviceType::kCuda).value_or(0); }

absl::StatusOr<std::unique_ptr<DeviceContext>> MakeGpu(const RunOptions& options,
                                                       const RankPlace& place) {
  if (Simulated(options)) {
    return OfFlag(DeviceContext::Create(Device::Simulated(0)), "RunOptions::device.gpu");
  }
  auto context = DeviceContext::Create(Device::Cuda(place.node_rank % std::max(1, CudaGpus())));
  if (context.ok()) return context;
  return UsageError("RunOptions::device.gpu: ", context.status().message(),
                    "; RunOptions::device.gpu_device=simulated needs no GPU");
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceContext>> MakeDevice(const RunOptions& options,
                                                          const RankPlace& place) {
  DTNN_ASSIGN_OR_RETURN(
      std::unique_ptr<DeviceContext> context,
      options.device.gpu ? MakeGpu(options, place) : DeviceContext::Create(Device::Cpu()));
  DTNN_RETURN_IF_ERROR(context->SetMathMode(options.device.math_mode));
  return context;
}

bool MakesPlans(const RunOptions& options) { return options.device.gpu && !Simulated(options); }

absl::StatusOr<std::unique_ptr<DeviceCollectives>> MakeCollectives(const RunOptions& options,
                                                                   Communicator* communicator,
                                                                   DeviceContext& context) {
  if (!options.device.nccl || !options.device.gpu || communicator == nullptr) return nullptr;
  const auto timeout = std::chrono::milliseconds(int64_t(options.ranks.timeout * 1000));
  auto collectives = JoinCollectives(*communicator, context, timeout);
  if (Simulated(options)) {
    // Those of one process find each other; where only some do, ranks are several processes.
    DTNN_ASSIGN_OR_RETURN(const std::vector<int32_t> joined,
                          GatherValues<int32_t>(*communicator, int32_t{collectives.ok()}));
    const int64_t count = std::ranges::count(joined, 1);
    if (count > 0 && count < communicator->size()) return nullptr;
  }
  if (!absl::IsFailedPrecondition(collectives.status())) return collectives;
  return OfFlag(std::move(collectives), "RunOptions::device.nccl");
}

int GpusPerHost(const RunOptions& options, const RankPlace& place) {
  if (!options.device.gpu) return 0;
  return Simulated(options) ? place.node_size : std::min(place.node_size, CudaGpus());
}

}  // namespace dtnn
#include <vector>
