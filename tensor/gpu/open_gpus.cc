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

Opened& All() {
  static Opened* const opened = new Opened();
  return *opened;
}

absl::StatusOr<Driver*> DriverOf(Opened& opened, DeviceType type) {
  if (type == DeviceType::kCpu) return absl::InvalidArgumentError("the cpu is not a GPU");
  std::unique_ptr<Driver>& driver = opened.drivers[type];
  if (driver == nullptr) {
    DTNN_ASSIGN_OR_RETURN(driver, CreateDriver(type == DeviceType::kCuda ? DriverKind::kCuda
                                                                         : DriverKind::kSimulated));
  }
  return driver.get();
}

absl::StatusOr<Gpu*> Open(Opened& opened, Device device) {
  std::unique_ptr<Gpu>& gpu = opened.gpus[{device.type, device.index}];
  if (gpu != nullptr) return gpu.get();
  DTNN_ASSIGN_OR_RETURN(Driver* const driver, DriverOf(opened, device.type));
  DTNN_ASSIGN_OR_RETURN(gpu, driver->Open(device.index));
  return gpu.get();
}

}  // namespace

absl::StatusOr<Gpu*> OpenGpu(Device device) {
  const std::lock_guard lock(All().mutex);
  return WithContext(Open(All(), device), device.ToString());
}

absl::StatusOr<int> CountGpus(DeviceType type) {
  const std::lock_guard lock(All().mutex);
  DTNN_ASSIGN_OR_RETURN(Driver* const driver, DriverOf(All(), type));
  return driver->DeviceCount();
}

}  // namespace dtnn::gpu
