#include "tensor/gpu/open_gpus.h"

#include <map>
#include <memory>
#include <mutex>

#include "tensor/errors.h"
#include "tensor/gpu/drivers.h"

namespace dtnn::gpu {
namespace {

// Never destroyed.
struct Opened {
  std::mutex mutex;
  std::map<DeviceType, std::unique_ptr<Driver>> drivers;
  std::map<std::pair<DeviceType, int>, std::unique_ptr<Gpu>> gpus;
};

absl::StatusOr<Gpu*> Open(Opened& opened, Device device) {
  std::unique_ptr<Gpu>& gpu = opened.gpus[{device.type, device.index}];
  if (gpu != nullptr) return gpu.get();
  std::unique_ptr<Driver>& driver = opened.drivers[device.type];
  if (driver == nullptr) {
    DTNN_ASSIGN_OR_RETURN(driver,
                          CreateDriver(device.type == DeviceType::kCuda ? DriverKind::kCuda
                                                                        : DriverKind::kSimulated));
  }
  DTNN_ASSIGN_OR_RETURN(gpu, driver->Open(device.index));
  return gpu.get();
}

}  // namespace

absl::StatusOr<Gpu*> OpenGpu(Device device) {
  if (device.is_cpu()) return absl::InvalidArgumentError("the cpu is not a GPU");
  static Opened* const opened = new Opened();
  const std::lock_guard lock(opened->mutex);
  return WithContext(Open(*opened, device), device.ToString());
}

}  // namespace dtnn::gpu
