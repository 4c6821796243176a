// What cuDNN would run on a GPU that is not there: plans are made for a device that is only
// described, as ahead-of-time compilation does (cuDNN 9.8 and newer). It shows that an operation is
// supported, by which engine and with which workspace; neither numbers nor speed.

#ifndef DTNN_KERNELS_CONV_GPU_CUDNN_DEVICELESS_H_
#define DTNN_KERNELS_CONV_GPU_CUDNN_DEVICELESS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/conv/conv2d_spec.h"
#include "kernels/conv/direction.h"

namespace dtnn::cudnn {

// Properties of GPUs as cuDNN reads them; sizes and clocks are approximate.
inline constexpr std::string_view kH100 =
    R"({"deviceVer":900,"driverVer":13000,"cudaDeviceId":0,"deviceName":"H100",)"
    R"("multiProcessorCount":132,"warpSize":32,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("maxCtasPerSM":32,"regsPerBlock":65536,"maxRegistersPerSM":65536,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,)"
    R"("reservedSharedMemoryPerBlock":1024,"totalGlobalMem":85029158912,"l2CacheSize":52428800,)"
    R"("smClockRateKHz":1980000,"memClockRateKHz":2619000,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1})";
inline constexpr std::string_view kA100 =
    R"({"deviceVer":800,"driverVer":13000,"cudaDeviceId":0,"deviceName":"A100",)"
    R"("multiProcessorCount":108,"warpSize":32,"maxGridSize":[2147483647,65535,65535],)"
    R"("maxBlockSize":[1024,1024,64],"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
    R"("maxCtasPerSM":32,"regsPerBlock":65536,"maxRegistersPerSM":65536,)"
    R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":166912,)"
    R"("reservedSharedMemoryPerBlock":1024,"totalGlobalMem":85198045184,"l2CacheSize":41943040,)"
    R"("smClockRateKHz":1410000,"memClockRateKHz":1593000,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1})";

// About what both have.
inline constexpr size_t kDescribedMemory = size_t{80} << 30;

struct DescribedPlan {
  int64_t engine = -1, workspace_bytes = 0;
  // Supported and compiled, but not loaded: there is only a stub of the driver, which must be
  // loadable for this (the toolkit's lib64/stubs/libcuda.so).
  bool only_compiled = false;
  std::string name;  // of the engine with its settings (plan.h)
};

class DescribedDevice {
 public:
  virtual ~DescribedDevice() = default;
  // cuDNN's number, 91900 for 9.19.0.
  virtual int64_t version() const = 0;
  // A plan that a primitive is made with: for a whole batch, dense, with operands at multiples of
  // `alignment` bytes; a backward direction may add to what is there. Unimplemented, with cuDNN's
  // reason, where there is none.
  virtual absl::StatusOr<DescribedPlan> PlanOf(const Conv2dSpec& spec, conv::Direction direction,
                                               bool accumulate, int64_t alignment = 16) const = 0;
  // Those that could be timed, the one of PlanOf first; and the one of a name, or NotFound.
  virtual absl::StatusOr<std::vector<std::string>> NamesOf(const Conv2dSpec& spec,
                                                           conv::Direction direction,
                                                           size_t most) const = 0;
  virtual absl::StatusOr<DescribedPlan> PlanNamed(const Conv2dSpec& spec, conv::Direction direction,
                                                  std::string_view name) const = 0;
  // The plan of a name as a text, and from a text (plan.h).
  virtual absl::StatusOr<std::string> TextOf(const Conv2dSpec& spec, conv::Direction direction,
                                             std::string_view name) const = 0;
  virtual absl::StatusOr<DescribedPlan> Restore(const Conv2dSpec& spec, conv::Direction direction,
                                                std::string_view text) const = 0;
};

// Internal where cuDNN refuses the description.
absl::StatusOr<std::unique_ptr<DescribedDevice>> DescribeDevice(std::string_view json);

}  // namespace dtnn::cudnn

#endif  // DTNN_KERNELS_CONV_GPU_CUDNN_DEVICELESS_H_
