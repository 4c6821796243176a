#include "kernels/device/device_traits.h"

#include "kernels/simd/simd_target.h"

namespace dtnn {

DeviceTraits TraitsOf(Device device) {
  if (!device.is_cpu()) {
    return {.kind = "GPU",
            .instructions = "",
            .replays_work = true,
            .tunes_libraries = device.type == DeviceType::kCuda,
            .scales_filters = true,
            .pairs_normalizations = true};
  }
  return {.kind = "CPU",
          .instructions = SimdTarget(),
          .in_host_memory = true,
          .chooses_convolutions = true,
          .scales_results = true};
}

}  // namespace dtnn
