#include "kernels/device/free_memory.h"

#include "kernels/device/gpu_context.h"

namespace dtnn {

std::optional<size_t> FreeMemory(DeviceContext& context) {
  if (context.device().is_cpu()) return std::nullopt;
  const absl::StatusOr<gpu::MemoryInfo> info =
      static_cast<GpuContext&>(context).stream().gpu().Memory();
  return info.ok() ? std::optional(info->free_bytes) : std::nullopt;
}

}  // namespace dtnn
