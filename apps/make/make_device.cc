#include "apps/make/make_device.h"

#include "comm/job/exit_code.h"
#include "tensor/errors.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<DeviceContext>> MakeDevice(const Options& options) {
  if (!options.enable_gpu) return DeviceContext::Create(Device::Cpu());
  if (options.gpu_device == "simulated") {
    return OfFlag(DeviceContext::Create(Device::Simulated(0)), "--enable-gpu");
  }
  auto context = DeviceContext::Create(Device::Cuda(0));
  if (context.ok()) return context;
  return UsageError("--enable-gpu: ", context.status().message(),
                    "; --gpu-device=simulated needs no GPU");
}

}  // namespace dtnn
