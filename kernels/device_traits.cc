#include "kernels/device_traits.h"

#include "kernels/simd_target.h"

namespace dtnn {

DeviceTraits TraitsOf(Device device) {
  if (!device.is_cpu()) {
    return {.kind = "GPU",
            .instructions = "",
            .replays_work = true,
            .tunes_libraries = device.type == DeviceType::kCuda};
  }
  return {.kind = "CPU",
          .instructions = SimdTarget(),
          .in_host_memory = true,
          .chooses_convolutions = true,
          .folds_normalizations = true};
}

}  // namespace dtnn
